/* What all models say to their host: why something failed, and metrics. */
#ifndef LIBCORE_MODELS_HOST_H
#define LIBCORE_MODELS_HOST_H

#include "libcore/base/err.h"
#include "libcore/model/dadam/model.h"

/* Keep what the host offers: as much of it as this build knows. */
void host_copy(struct dadam_host *out, const struct dadam_host *host);

/* Pass err's sentence and hint to the host; returns -1. */
int host_fail(const struct dadam_host *host, const struct error *err);

/* A line for the job's log. */
void host_say(const struct dadam_host *host, const char *text);

void host_metric(struct dadam_metric *out, const char *name, double value);

#endif
