/* The checks of a job spec that know of pipelines. For job_spec.c only. */
#ifndef LIBCORE_SETTINGS_JOB_PIPELINE_H
#define LIBCORE_SETTINGS_JOB_PIPELINE_H

#include "libcore/settings/job_spec.h"
#include "libcore/settings/settings.h"

/* Refuse keys that the spec's kind of algorithm does not have, and in a pipeline job what does not fit
 * together; fill in the defaults that depend on other keys. ST_INVALID. */
MUST_CHECK enum status job_pipeline_check(const struct settings *s, struct job_spec *spec, struct error *err);

#endif
