/* UTF-8 by the table of RFC 3629. See text.h. */
#include "proto/text.h"

#include <stdint.h>

/* The form of a character by its first byte: length and the range of the second byte; the others are
 * 80..BF. Overlong forms, surrogates and what is beyond 10FFFF fall out by the ranges. */
static const struct form {
	uint8_t first_lo, first_hi, len, second_lo, second_hi;
} forms[] = {
		{0xc2, 0xdf, 2, 0x80, 0xbf}, {0xe0, 0xe0, 3, 0xa0, 0xbf}, {0xe1, 0xec, 3, 0x80, 0xbf},
		{0xed, 0xed, 3, 0x80, 0x9f}, {0xee, 0xef, 3, 0x80, 0xbf}, {0xf0, 0xf0, 4, 0x90, 0xbf},
		{0xf1, 0xf3, 4, 0x80, 0xbf}, {0xf4, 0xf4, 4, 0x80, 0x8f},
};

static int is_control(const uint8_t *s, size_t len)
{
	/* C0, DEL, and C1 (U+0080..U+009F), which some terminals obey */
	return s[0] < 0x20 || s[0] == 0x7f || (s[0] == 0xc2 && len > 1 && s[1] >= 0x80 && s[1] < 0xa0);
}

static int is_layout(uint8_t c)
{
	return c == '\n' || c == '\t' || c == '\r';
}

/* Bytes of the UTF-8 character at s, 0 when it is none; *cut: it would be one with more bytes. */
static size_t utf8_len(const uint8_t *s, size_t len, int *cut)
{
	*cut = 0;
	if (s[0] < 0x80)
		return 1;
	for (size_t k = 0; k < sizeof forms / sizeof forms[0]; k++) {
		const struct form *f = &forms[k];

		if (s[0] < f->first_lo || s[0] > f->first_hi)
			continue;
		for (size_t i = 1; i < f->len; i++) {
			uint8_t lo = i == 1 ? f->second_lo : 0x80, hi = i == 1 ? f->second_hi : 0xbf;

			*cut = i == len;
			if (i == len || s[i] < lo || s[i] > hi)
				return 0;
		}
		return f->len;
	}
	return 0;
}

size_t text_good(const char *s, size_t len, enum text_kind kind)
{
	const uint8_t *at = (const uint8_t *)s;
	size_t i = 0, n;
	int cut;

	while (i < len) {
		n = utf8_len(at + i, len - i, &cut);
		if (n == 0)
			break;
		if (is_control(at + i, len - i) && !(kind == TEXT_LINES && is_layout(at[i])))
			break;
		i += n;
	}
	return i;
}

size_t text_clean(char *dst, const char *s, size_t len, enum text_kind kind)
{
	const uint8_t *at = (const uint8_t *)s;
	size_t i = 0, out = 0, n;
	int cut;

	while (i < len) {
		n = utf8_len(at + i, len - i, &cut);
		if (n == 0 && cut)
			break;
		if (n == 0) {
			dst[out++] = '?';
			i++;
		} else if (is_control(at + i, len - i) && !(kind == TEXT_LINES && is_layout(at[i]))) {
			dst[out++] = ' ';
			i += n;
		} else {
			for (size_t k = 0; k < n; k++)
				dst[out++] = s[i++];
		}
	}
	dst[out] = 0;
	return out;
}
