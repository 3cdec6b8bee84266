/* export: a job's model into a file that appears whole or not at all. The file is renamed into its place, so
 * a place that is no file (a device, a pipe) is refused, and a symbolic link to a file is followed, not replaced.
 * A file, or a link to nowhere, that is there already is replaced only with --force. */
#include "ctl/render_json.h"
#include "ctl/shell.h"
#include "ctl/show.h"
#include "libcore/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where the bytes go: a temporary file beside the wanted one, or stdout. */
struct target {
	struct shell *sh;
	const char *path;
	char *temporary; /* NULL: stdout */
	int fd;
	char real[PATH_MAX]; /* path without symbolic links */
};

static int fail_io(const struct target *t, const char *what)
{
	struct error err;
	int missing = errno == ENOENT || errno == ENOTDIR;

	(void)error_set(&err, errno == EACCES ? ST_DENIED : ST_IO, "%s: %s", what, strerror(errno));
	if (missing)
		error_hint(&err, "-o takes a file in a folder that is there");
	return shell_fail(t->sh, &err, errno == EACCES ? EXIT_DENIED : EXIT_FAILED);
}

static int refuse_terminal(struct shell *sh)
{
	struct error err;

	(void)error_set(&err, ST_INVALID, "export: a model is binary, stdout is a terminal");
	error_hint(&err, "-o FILE.safetensors, or send it to a pipe");
	return shell_fail(sh, &err, EXIT_USAGE);
}

static int refuse_folder(struct shell *sh, const char *path)
{
	struct error err;
	size_t len = strlen(path);

	while (len > 0 && path[len - 1] == '/')
		len--;
	(void)error_set(&err, ST_INVALID, "%s is a folder", path);
	error_hint(&err, "-o %.*s/model.safetensors", (int)len, path);
	return shell_fail(sh, &err, EXIT_USAGE);
}

static int refuse_special(struct shell *sh, const char *path)
{
	struct error err;

	(void)error_set(&err, ST_INVALID, "%s is a device, pipe or socket, allowed: a file, new or with --force", path);
	error_hint(&err, "-o - writes to stdout: dadamctl export JOB -o - >%s", path);
	return shell_fail(sh, &err, EXIT_USAGE);
}

static int refuse_existing(struct shell *sh, const char *path)
{
	struct error err;

	(void)error_set(&err, ST_STATE, "%s is there already", path);
	error_hint(&err, "choose another -o FILE, or add --force to replace it");
	return shell_fail(sh, &err, EXIT_FAILED);
}

static int refuse_dangling(struct shell *sh, const char *path)
{
	struct error err;

	(void)error_set(&err, ST_STATE, "%s is a symbolic link to a file that is not there", path);
	error_hint(&err, "choose another -o FILE, or add --force to replace the link");
	return shell_fail(sh, &err, EXIT_FAILED);
}

/* `-o json` means the output format for every other verb. */
static int refuse_format(struct shell *sh, const char *path)
{
	struct error err;

	(void)error_set(&err, ST_INVALID, "export: -o is the file here, found '%s'", path);
	error_hint(&err, "a document about it: dadamctl -o json export JOB -o FILE; a file of that name: -o ./%s", path);
	return shell_fail(sh, &err, EXIT_USAGE);
}

static int target_open(struct target *t)
{
	struct stat s;
	struct error err;
	int there;

	if (strcmp(t->path, "-") == 0) {
		t->fd = STDOUT_FILENO;
		return isatty(STDOUT_FILENO) ? refuse_terminal(t->sh) : 0;
	}
	if (strcmp(t->path, "json") == 0 || strcmp(t->path, "table") == 0)
		return refuse_format(t->sh, t->path);
	there = stat(t->path, &s) == 0;
	if (there && S_ISDIR(s.st_mode))
		return refuse_folder(t->sh, t->path);
	if (there && !S_ISREG(s.st_mode))
		return refuse_special(t->sh, t->path);
	if (there && !t->sh->args->force)
		return refuse_existing(t->sh, t->path);
	if (!there && !t->sh->args->force && lstat(t->path, &s) == 0 && S_ISLNK(s.st_mode))
		return refuse_dangling(t->sh, t->path);
	if (there && realpath(t->path, t->real) != NULL)
		t->path = t->real;
	t->temporary = mem_alloc(strlen(t->path) + 5, 1);
	if (t->temporary == NULL) {
		(void)error_set(&err, ST_NOMEM, "out of memory");
		return shell_fail(t->sh, &err, EXIT_FAILED);
	}
	(void)sprintf(t->temporary, "%s.tmp", t->path);
	t->fd = open(t->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
	return t->fd < 0 ? fail_io(t, t->temporary) : 0;
}

static int target_write(struct target *t, const uint8_t *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = write(t->fd, bytes, len);

		if (n < 0 && errno == EINTR && client_signal == 0)
			continue;
		if (n < 0 && errno == EPIPE)
			return EXIT_PIPE;
		if (n < 0)
			return fail_io(t, t->temporary != NULL ? t->temporary : "stdout");
		bytes += n;
		len -= (size_t)n;
	}
	return 0;
}

/* with: how it went so far; on 0 the file gets its name, else it goes. */
static int target_close(struct target *t, int with)
{
	if (t->temporary == NULL)
		return with;
	if (t->fd >= 0) {
		if (with == 0 && fsync(t->fd) != 0)
			with = fail_io(t, t->temporary);
		if (close(t->fd) != 0 && with == 0)
			with = fail_io(t, t->temporary);
		if (with == 0 && rename(t->temporary, t->path) != 0)
			with = fail_io(t, t->path);
		if (with != 0)
			(void)unlink(t->temporary);
	}
	mem_free(t->temporary);
	return with;
}

static int copy(struct target *t, uint64_t *bytes)
{
	struct control_request req = shell_job_request(t->sh, CONTROL_EXPORT);
	uint64_t total = 1;
	int with = 0;

	req.take = t->sh->args->take;
	while (with == 0 && req.offset < total) {
		struct control_response resp;

		with = shell_ask(t->sh, &resp, &req);
		if (with != 0)
			break;
		total = resp.total;
		if (resp.chunk_len == 0 && req.offset < total) {
			struct error err;

			(void)error_set(&err, ST_PROTO, "the model ends at byte %llu of %llu", (unsigned long long)req.offset,
					(unsigned long long)total);
			with = shell_fail(t->sh, &err, EXIT_PROTOCOL);
		} else
			with = target_write(t, resp.chunk, resp.chunk_len);
		req.offset += resp.chunk_len;
		control_response_fini(&resp);
	}
	*bytes = req.offset;
	return with;
}

int cmd_export(struct shell *sh)
{
	struct target t = {.sh = sh, .path = sh->args->file, .fd = -1};
	char size[SHOW_SIZE];
	uint64_t bytes = 0;
	struct page p;
	int with = target_open(&t);

	if (with == 0)
		with = copy(&t, &bytes);
	with = target_close(&t, with);
	if (with != 0 || t.fd == STDOUT_FILENO)
		return with;
	page_init(&p, shell_view(sh));
	if (sh->args->output == OUTPUT_JSON)
		json_export(&p, sh->args->operand, t.path, bytes);
	else {
		show_bytes(size, (double)bytes);
		page_put(&p, "wrote %s  %s\n", t.path, size);
	}
	return shell_print(sh, &p);
}
