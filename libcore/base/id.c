/* 128-bit names. See id.h. */
#include "libcore/base/id.h"

#include <string.h>

/* 0..15, or -1 for anything that is no digit. */
static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

enum status id_from_hex(struct id *out, const char *text, struct error *err)
{
	size_t len = strlen(text);
	struct id id;

	if (len != ID_HEX_SIZE - 1) {
		(void)error_set(err, ST_INVALID,
				"id of %zu characters, 32 hexadecimal digits are needed", len);
		error_hint(err, "give the whole id as printed with -o json");
		return ST_INVALID;
	}
	for (size_t i = 0; i < ID_BYTES; i++) {
		int high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);

		if (high < 0 || low < 0) {
			(void)error_set(err, ST_INVALID,
					"id \"%s\" holds a character other than 0-9 and a-f", text);
			error_hint(err, "give the whole id as printed with -o json");
			return ST_INVALID;
		}
		id.b[i] = (uint8_t)(high << 4 | low);
	}
	*out = id;
	return ST_OK;
}

static void write_hex(char *out, const uint8_t *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		out[2 * i] = digits[bytes[i] >> 4];
		out[2 * i + 1] = digits[bytes[i] & 15];
	}
	out[2 * n] = '\0';
}

void id_to_hex(char out[ID_HEX_SIZE], const struct id *id)
{
	write_hex(out, id->b, ID_BYTES);
}

void id_short(char out[ID_SHORT_SIZE], const struct id *id)
{
	write_hex(out, id->b, (ID_SHORT_SIZE - 1) / 2);
}

int id_cmp(const struct id *a, const struct id *b)
{
	return memcmp(a->b, b->b, ID_BYTES);
}

bool id_equal(const struct id *a, const struct id *b)
{
	return id_cmp(a, b) == 0;
}

bool id_is_zero(const struct id *id)
{
	static const struct id zero;

	return id_equal(id, &zero);
}
