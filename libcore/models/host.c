/* See host.h. */
#include "libcore/models/host.h"

#include <stdio.h>
#include <string.h>

void host_copy(struct dadam_host *out, const struct dadam_host *host)
{
	*out = (struct dadam_host){0};
	memcpy(out, host, host->struct_size < sizeof *out ? host->struct_size : sizeof *out);
}

int host_fail(const struct dadam_host *host, const struct error *err)
{
	char text[sizeof err->msg + sizeof err->hint + 8];

	(void)snprintf(text, sizeof text, err->hint[0] != '\0' ? "%s (%s)" : "%s", err->msg, err->hint);
	if (host->fail != NULL)
		host->fail(host->data, text);
	return -1;
}

void host_say(const struct dadam_host *host, const char *text)
{
	if (host->log != NULL)
		host->log(host->data, DADAM_LOG_INFO, text);
}

void host_metric(struct dadam_metric *out, const char *name, double value)
{
	*out = (struct dadam_metric){.value = value};
	(void)snprintf(out->name, sizeof out->name, "%s", name);
}
