/* Compressors as text and their checks: what is accepted, what is refused and in which words. */
#include "libcore/compress/compress.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct {
	const char *text;
	struct compress_config cfg;
} accepted[] = {
		{"identity",
		 {.kind = COMPRESS_IDENTITY, .ppm = 10000, .levels = 15, .scaled = true}},
		{"sign",
		 {.kind = COMPRESS_SIGN, .ppm = 10000, .levels = 15, .scaled = true}},
		{"sign(keep-zeros)",
		 {.kind = COMPRESS_SIGN,
		  .ppm = 10000,
		  .levels = 15,
		  .scaled = true,
		  .keep_zeros = true}},
		{"top-k(1%)",
		 {.kind = COMPRESS_TOPK, .ppm = 10000, .levels = 15, .scaled = true}},
		{"top-k(10000ppm)",
		 {.kind = COMPRESS_TOPK, .ppm = 10000, .levels = 15, .scaled = true}},
		{"top-k(0.1%)",
		 {.kind = COMPRESS_TOPK, .ppm = 1000, .levels = 15, .scaled = true}},
		{"top-k(0.0001%)",
		 {.kind = COMPRESS_TOPK, .ppm = 1, .levels = 15, .scaled = true}},
		{"top-k(12.34%)",
		 {.kind = COMPRESS_TOPK, .ppm = 123400, .levels = 15, .scaled = true}},
		{"top-k(100)",
		 {.kind = COMPRESS_TOPK, .k = 100, .levels = 15, .scaled = true}},
		{"random-k(100%)",
		 {.kind = COMPRESS_RANDK, .ppm = 1000000, .levels = 15, .scaled = true}},
		{"qsgd(1)",
		 {.kind = COMPRESS_QSGD, .ppm = 10000, .levels = 1, .scaled = true}},
		{"qsgd(300,unscaled)",
		 {.kind = COMPRESS_QSGD, .ppm = 10000, .levels = 300}},
		{"int8",
		 {.kind = COMPRESS_INT8, .ppm = 10000, .levels = 15, .scaled = true}},
		{"int4",
		 {.kind = COMPRESS_INT4, .ppm = 10000, .levels = 15, .scaled = true}},
		{"bf16",
		 {.kind = COMPRESS_BF16, .ppm = 10000, .levels = 15, .scaled = true}},
};

static bool same(const struct compress_config *a, const struct compress_config *b)
{
	return a->kind == b->kind && a->k == b->k && a->ppm == b->ppm && a->levels == b->levels &&
	       a->scaled == b->scaled && a->keep_zeros == b->keep_zeros && a->seed == b->seed;
}

Test(text, every_kind_is_read)
{
	for (size_t i = 0; i < sizeof accepted / sizeof accepted[0]; i++) {
		struct compress_config cfg = {0};
		struct error err = {0};

		cr_assert_eq(compress_parse(&cfg, accepted[i].text, &err), ST_OK, "%s: %s",
			     accepted[i].text, err.msg);
		cr_assert(same(&cfg, &accepted[i].cfg), "%s", accepted[i].text);
	}
}

static const struct {
	const char *text, *msg, *hint;
} refused[] = {
		{"", "\"\"", ""},
		{"sing", "\"sing\"", "sign"},
		{"topk(1%)", "\"topk(1%)\"", "top-k"},
		{"top-k", "\"\"", "top-k(1%)"},
		{"top-k()", "\"\"", "top-k(1%)"},
		{"top-k(0%)", "\"0%\"", "top-k(1%)"},
		{"top-k(0)", "\"0\"", "top-k(1%)"},
		{"top-k(100.0001%)", "\"100.0001%\"", "top-k(1%)"},
		{"top-k(101%)", "\"101%\"", "top-k(1%)"},
		{"top-k(0.00001%)", "\"0.00001%\"", "top-k(1%)"},
		{"top-k(1.%)", "\"1.%\"", "top-k(1%)"},
		{"top-k(-1%)", "\"-1%\"", "top-k(1%)"},
		{"top-k(1000001ppm)", "\"1000001ppm\"", "top-k(1%)"},
		{"top-k(4294967296)", "\"4294967296\"", "top-k(1%)"},
		{"top-k(1%", "\"top-k(1%\"", ""},
		{"top-k(1%)x", "\"top-k(1%)x\"", ""},
		{"random-k(1 %)", "\"1 %\"", "random-k(1%)"},
		{"qsgd", "1 to 32767", "qsgd(15)"},
		{"qsgd(0)", "1 to 32767", "qsgd(15)"},
		{"qsgd(32768)", "1 to 32767", "qsgd(15)"},
		{"qsgd(15,scaled)", "\"15,scaled\"", "qsgd(15)"},
		{"sign(zeros)", "sign(keep-zeros)", ""},
		{"sign()", "sign(keep-zeros)", ""},
		{"int8(7)", "int8 takes nothing", ""},
		{"int16", "int4", "int"},
		{"qsgd(15))))))))))))))))))))))))))))))))))))))))))))", "allowed", ""},
};

Test(text, refusals_say_what_was_found_and_what_is_allowed)
{
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
		struct compress_config cfg = {.levels = 99};
		struct error err = {0};

		cr_assert_eq(compress_parse(&cfg, refused[i].text, &err), ST_INVALID, "%s",
			     refused[i].text);
		cr_assert(strstr(err.msg, refused[i].msg), "%s: %s", refused[i].text, err.msg);
		cr_assert(strstr(err.hint, refused[i].hint), "%s: %s", refused[i].text, err.hint);
		cr_assert_eq(cfg.levels, 99, "out is touched only by success");
	}
}

Test(text, check_refuses_what_diverges_and_what_is_out_of_range)
{
	struct compress_config cfg = compress_config_default();
	struct error err = {0};

	cfg.kind = COMPRESS_QSGD;
	cr_assert_eq(compress_config_check(&cfg, 65536, &err), ST_OK);
	cfg.scaled = false;
	cr_assert_eq(compress_config_check(&cfg, 224, &err), ST_OK);
	cr_assert_eq(compress_config_check(&cfg, 225, &err), ST_INVALID);
	cr_assert(strstr(err.msg, "15 levels on 225") && strstr(err.msg, "diverges"), "%s",
		  err.msg);
	cr_assert(strstr(err.hint, "at least 16 levels"), "%s", err.hint);
	cfg.levels = 0;
	cr_assert_eq(compress_config_check(&cfg, 1, &err), ST_INVALID);
	cfg = (struct compress_config){.kind = COMPRESS_TOPK};
	cr_assert_eq(compress_config_check(&cfg, 10, &err), ST_INVALID);
	cr_assert(strstr(err.msg, "0 ppm"), "%s", err.msg);
	cfg.k = 3;
	cr_assert_eq(compress_config_check(&cfg, 10, &err), ST_OK);
	cr_assert_eq(compress_config_check(&cfg, (size_t)1 << 32, &err), ST_INVALID);
	cfg.kind = (enum compress_kind)8;
	cr_assert_eq(compress_config_check(&cfg, 10, &err), ST_INVALID);
	cr_assert(strstr(err.msg, "kind 8"), "%s", err.msg);
}

Test(text, kept_is_the_ceiling_and_never_nothing)
{
	struct compress_config cfg = {.kind = COMPRESS_TOPK, .ppm = 10000};

	cr_assert_eq(compress_kept(&cfg, 1), 1);
	cr_assert_eq(compress_kept(&cfg, 100), 1);
	cr_assert_eq(compress_kept(&cfg, 101), 2);
	cr_assert_eq(compress_kept(&cfg, 65536), 656);
	cr_assert_eq(compress_kept(&cfg, 4000000000U), 40000000U);
	cfg.k = 5;
	cr_assert_eq(compress_kept(&cfg, 4), 4);
	cr_assert_eq(compress_kept(&cfg, 40), 5);
}

Test(text, contraction_is_the_documented_one)
{
	struct compress_config cfg = {.kind = COMPRESS_QSGD, .levels = 4, .scaled = true};

	cr_assert_eq(compress_contraction(&cfg, 16), 0.5); /* omega = min(16/16, 4/4) */
	cfg.kind = COMPRESS_SIGN;
	cr_assert_eq(compress_contraction(&cfg, 16), 1.0 / 16);
	cfg = (struct compress_config){.kind = COMPRESS_RANDK, .ppm = 250000};
	cr_assert_eq(compress_contraction(&cfg, 16), 0.25);
	cfg.kind = COMPRESS_IDENTITY;
	cr_assert_eq(compress_contraction(&cfg, 16), 1.0);
	cfg.kind = COMPRESS_INT8;
	cr_assert_float_eq(compress_contraction(&cfg, 1000), 0.9960, 1e-4);
	cfg.kind = COMPRESS_INT4;
	cr_assert_float_eq(compress_contraction(&cfg, 1000), 0.6786, 1e-4);
	cfg.kind = COMPRESS_BF16;
	cr_assert_eq(compress_contraction(&cfg, 1000), 1 - 0x1p-16);
}
