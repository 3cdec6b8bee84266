/* Texts to numbers and back, with units. See value.h. */
#include "libcore/settings/value.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit time_units[] = {
	{"ms", 1}, {"s", 1000}, {"m", 60 * 1000}, {"h", 3600 * 1000}, {"d", 24 * 3600 * 1000},
};

static const struct unit size_units[] = {
	{"B", 1}, {"KiB", 1ULL << 10}, {"MiB", 1ULL << 20}, {"GiB", 1ULL << 30}, {"TiB", 1ULL << 40},
	{"kB", 1000}, {"MB", 1000000}, {"GB", 1000000000}, {"TB", 1000000000000},
};

#define N_TIME_UNITS (sizeof time_units / sizeof *time_units)
#define N_SIZE_UNITS (sizeof size_units / sizeof *size_units)
#define N_BINARY_UNITS 5 /* the first of size_units */

bool value_integer(uint64_t *out, const char *text)
{
	uint64_t n = 0;

	if (*text == '\0')
		return false;
	for (; *text != '\0'; text++) {
		unsigned digit = (unsigned)(unsigned char)*text - '0';

		if (digit > 9 || n > (UINT64_MAX - digit) / 10)
			return false;
		n = n * 10 + digit;
	}
	*out = n;
	return true;
}

/* strtod also takes blanks, hexadecimal, inf and nan: let it see decimal numbers only. */
bool value_real(double *out, const char *text)
{
	char *end;
	double x;

	if (strspn(text, "+-.0123456789eE") != strlen(text) || strpbrk(text, "0123456789") == NULL)
		return false;
	x = strtod(text, &end);
	if (*end != '\0' || !isfinite(x))
		return false;
	*out = x;
	return true;
}

bool value_switch(int *out, const char *text)
{
	static const char *const words[] = {"off", "on", "no", "yes", "false", "true"};

	for (int i = 0; i < 6; i++)
		if (strcmp(text, words[i]) == 0) {
			*out = i % 2;
			return true;
		}
	return false;
}

/* NUMBER UNIT; whole numbers stay exact, fractions are rounded to the nearest. */
static bool with_unit(uint64_t *out, const char *text, const struct unit *units, size_t n_units, uint64_t bare)
{
	size_t digits = strspn(text, "0123456789.");
	uint64_t factor = text[digits] == '\0' ? bare : 0;
	char number[32];
	uint64_t whole;
	double x;

	for (size_t i = 0; i < n_units; i++)
		if (strcmp(text + digits, units[i].name) == 0)
			factor = units[i].factor;
	if (factor == 0 || digits == 0 || digits >= sizeof number)
		return false;
	memcpy(number, text, digits);
	number[digits] = '\0';
	if (value_integer(&whole, number)) {
		if (whole > UINT64_MAX / factor)
			return false;
		*out = whole * factor;
		return true;
	}
	if (!value_real(&x, number) || x * (double)factor > 1e18)
		return false;
	*out = (uint64_t)llround(x * (double)factor);
	return true;
}

bool value_time_ms(uint64_t *out, const char *text)
{
	return with_unit(out, text, time_units, N_TIME_UNITS, strcmp(text, "0") == 0 ? 1 : 0);
}

bool value_size(uint64_t *out, const char *text)
{
	return with_unit(out, text, size_units, N_SIZE_UNITS, 1);
}

bool value_name(const char *text)
{
	if (*text == '\0' || strcmp(text, ".") == 0 || strcmp(text, "..") == 0)
		return false;
	for (; *text != '\0'; text++)
		if (!(*text >= 'a' && *text <= 'z') && !(*text >= '0' && *text <= '9') && strchr("._-", *text) == NULL)
			return false;
	return true;
}

static void shortest(char out[VALUE_TEXT_SIZE], uint64_t n, const struct unit *units, size_t n_units)
{
	size_t best = 0;

	for (size_t i = 0; i < n_units; i++)
		if (n != 0 && n % units[i].factor == 0)
			best = i;
	(void)snprintf(out, VALUE_TEXT_SIZE, "%" PRIu64 "%s", n / units[best].factor, units[best].name);
}

void value_time_text(char out[VALUE_TEXT_SIZE], uint64_t ms)
{
	if (ms == 0)
		(void)snprintf(out, VALUE_TEXT_SIZE, "0s");
	else
		shortest(out, ms, time_units, N_TIME_UNITS);
}

void value_size_text(char out[VALUE_TEXT_SIZE], uint64_t bytes)
{
	shortest(out, bytes, size_units, N_BINARY_UNITS);
}
