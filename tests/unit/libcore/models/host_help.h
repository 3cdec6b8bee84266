/* A host for tests of models: keeps the last text that a model failed with. */
#ifndef TESTS_UNIT_LIBCORE_MODELS_HOST_HELP_H
#define TESTS_UNIT_LIBCORE_MODELS_HOST_HELP_H

#include "libcore/model/dadam/model.h"
#include "tests/unit/libcore/data/data_help.h"

static char host_text[1024];

static inline void host_log(void *data, enum dadam_log_level level, const char *text)
{
	(void)data;
	(void)level;
	(void)text;
}

static inline void host_fail(void *data, const char *text)
{
	(void)data;
	(void)snprintf(host_text, sizeof host_text, "%s", text);
}

static const struct dadam_host host = {.struct_size = sizeof host, .log = host_log, .fail = host_fail};

/* Create and load, or fail the test with the model's words. */
static inline void *loaded(const struct dadam_model *model, const struct dadam_options *options,
		const struct dadam_options *data, struct dadam_info *info)
{
	void *m = model->create(&host, options);

	cr_assert_not_null(m, "%s", host_text);
	*info = (struct dadam_info){.struct_size = sizeof *info};
	cr_assert_eq(model->load(m, data, info), 0, "%s", host_text);
	return m;
}

#endif
