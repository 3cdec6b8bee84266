/* Compressors as people write them: "top-k(1%)". */
#include "libcore/base/nearest.h"
#include "libcore/compress/compress.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {"identity", "sign", "top-k", "random-k",
				    "qsgd",     "int8", "int4",  "bf16"};
#define N_NAMES (sizeof names / sizeof names[0])
#define ALLOWED                                                                                    \
	"identity, sign, sign(keep-zeros), top-k(1%%), random-k(1%%), qsgd(15), int8, int4 and "   \
	"bf16 are allowed"

/* "name" or "name(argument)" cut in two. */
struct parts {
	char name[COMPRESS_TEXT_LEN], argument[COMPRESS_TEXT_LEN];
	bool has_argument;
};

static bool cut(struct parts *out, const char *text)
{
	const char *open = strchr(text, '(');
	size_t len = strlen(text), name_len = open != NULL ? (size_t)(open - text) : len;

	if (len >= COMPRESS_TEXT_LEN || (open != NULL && text[len - 1] != ')'))
		return false;
	memset(out, 0, sizeof *out);
	memcpy(out->name, text, name_len);
	out->has_argument = open != NULL;
	if (open != NULL)
		memcpy(out->argument, open + 1, len - name_len - 2);
	return true;
}

static enum status unknown(const char *text, const char *name, struct error *err)
{
	const char *near = nearest_word(name, names, N_NAMES);

	error_set(err, ST_INVALID, "compressor \"%.60s\"; " ALLOWED, text);
	if (near != NULL)
		error_hint(err, "did you mean %s?", near);
	return ST_INVALID;
}

/* Decimal digits, at least one, up to `most`; *text moves behind them. */
static bool read_number(uint32_t *out, const char **text, uint32_t most)
{
	uint64_t value = 0;
	const char *s = *text;

	for (; isdigit((unsigned char)*s) && value <= most; s++)
		value = value * 10 + (uint64_t)(*s - '0');
	if (s == *text || value > most)
		return false;
	*out = (uint32_t)value;
	*text = s;
	return true;
}

/* "1%", "0.05%": per million, exactly. */
static bool read_percent(uint32_t *ppm, const char *text)
{
	uint32_t whole, place = 1000;

	if (!read_number(&whole, &text, 100))
		return false;
	*ppm = whole * 10000;
	if (*text == '.') {
		const char *digits = ++text;

		for (; isdigit((unsigned char)*text) && place > 0; text++, place /= 10)
			*ppm += (uint32_t)(*text - '0') * place;
		if (text == digits)
			return false;
	}
	return strcmp(text, "%") == 0;
}

/* "1%", "10000ppm" or "100". */
static bool read_ratio(struct compress_config *cfg, const char *text)
{
	uint32_t number;
	const char *rest = text;

	cfg->k = 0;
	if (read_percent(&cfg->ppm, text))
		return cfg->ppm >= 1 && cfg->ppm <= COMPRESS_MILLION;
	if (!read_number(&number, &rest, UINT32_MAX) || number == 0)
		return false;
	if (strcmp(rest, "ppm") == 0) {
		cfg->ppm = number;
		return number <= COMPRESS_MILLION;
	}
	cfg->ppm = 0;
	cfg->k = number;
	return *rest == '\0';
}

static enum status parse_ratio(struct compress_config *cfg, const struct parts *p,
			       struct error *err)
{
	if (p->has_argument && read_ratio(cfg, p->argument))
		return ST_OK;
	error_set(err, ST_INVALID,
		  "%s of \"%s\"; more than 0 and up to 100%% (0.0001%% are 1ppm), or a number of "
		  "parameters per segment from 1 on, is allowed",
		  p->name, p->argument);
	error_hint(err, "write %s(1%%), %s(10000ppm) or %s(100)", p->name, p->name, p->name);
	return ST_INVALID;
}

static enum status parse_levels(struct compress_config *cfg, const struct parts *p,
				struct error *err)
{
	const char *rest = p->argument;

	if (read_number(&cfg->levels, &rest, COMPRESS_MAX_LEVELS) && cfg->levels > 0) {
		cfg->scaled = *rest == '\0';
		if (cfg->scaled || strcmp(rest, ",unscaled") == 0 ||
		    strcmp(rest, ", unscaled") == 0)
			return ST_OK;
	}
	error_set(err, ST_INVALID, "qsgd of \"%s\" levels; 1 to %u are allowed", p->argument,
		  COMPRESS_MAX_LEVELS);
	error_hint(err, "write qsgd(15), or qsgd(15,unscaled) for short segments");
	return ST_INVALID;
}

static enum status parse_arguments(struct compress_config *cfg, const struct parts *p,
				   struct error *err)
{
	switch (cfg->kind) {
	case COMPRESS_TOPK:
	case COMPRESS_RANDK:
		return parse_ratio(cfg, p, err);
	case COMPRESS_QSGD:
		return parse_levels(cfg, p, err);
	case COMPRESS_SIGN:
		cfg->keep_zeros = strcmp(p->argument, "keep-zeros") == 0;
		if (!p->has_argument || cfg->keep_zeros)
			return ST_OK;
		error_set(err, ST_INVALID, "sign(%s); sign and sign(keep-zeros) are allowed",
			  p->argument);
		return ST_INVALID;
	case COMPRESS_IDENTITY:
	case COMPRESS_INT8:
	case COMPRESS_INT4:
	case COMPRESS_BF16:
		if (!p->has_argument)
			return ST_OK;
		error_set(err, ST_INVALID, "%s(%s); %s takes nothing in parentheses", p->name,
			  p->argument, p->name);
		return ST_INVALID;
	}
	return ST_INVALID;
}

enum status compress_parse(struct compress_config *out, const char *text, struct error *err)
{
	struct compress_config cfg = compress_config_default();
	struct parts p;
	enum status st;

	if (!cut(&p, text))
		return unknown(text, text, err);
	for (size_t i = 0; i < N_NAMES; i++) {
		if (strcmp(p.name, names[i]) != 0)
			continue;
		cfg.kind = (enum compress_kind)i;
		st = parse_arguments(&cfg, &p, err);
		if (st == ST_OK)
			*out = cfg;
		return st;
	}
	return unknown(text, p.name, err);
}
