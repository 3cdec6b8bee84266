/* Finding and reading the configuration. See config.h. */
#include "daemon/config.h"

#include "daemon/store/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SYSTEM_CONFIG "/etc/dadamd/dadamd.yaml"
#define MAX_CONFIG ((size_t)256 * 1024)

static const char *find(const char *given)
{
	const char *env = getenv("DADAMD_CONFIG");

	if (given != NULL)
		return given;
	if (env != NULL && *env != '\0')
		return env;
	return access(SYSTEM_CONFIG, F_OK) == 0 ? SYSTEM_CONFIG : NULL;
}

enum status config_load(struct daemon_config *out, char source[300], const char *given, struct error *err)
{
	const char *path = find(given);
	struct buf text = {0};
	enum status st = ST_OK;

	(void)snprintf(source, 300, "%s", path == NULL ? "defaults" : path);
	if (path != NULL)
		st = files_read(&text, path, MAX_CONFIG, err);
	if (st == ST_NOT_FOUND)
		error_hint(err, "an empty file works too; without --config and DADAMD_CONFIG, " SYSTEM_CONFIG
				" or the defaults are used");
	if (st == ST_OK)
		st = daemon_config_parse(out, source, text.len == 0 ? "" : (const char *)text.data, text.len, err);
	buf_fini(&text);
	return st;
}
