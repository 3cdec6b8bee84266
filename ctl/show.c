/* Numbers and foreign texts as people read them. See show.h. */
#include "ctl/show.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

void show_count(char out[SHOW_SIZE], uint64_t n)
{
	char digits[24];
	int len = snprintf(digits, sizeof digits, "%" PRIu64, n);
	size_t used = 0;

	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			out[used++] = ' ';
		out[used++] = digits[i];
	}
	out[used] = '\0';
}

void show_bytes(char out[SHOW_SIZE], double bytes)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
	size_t unit = 0;

	while (bytes >= 999.5 && unit < 5) {
		bytes /= 1000;
		unit++;
	}
	(void)snprintf(out, SHOW_SIZE, unit == 0 || bytes >= 99.95 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
}

void show_seconds(char out[SHOW_SIZE], double seconds)
{
	uint64_t s;

	if (!(seconds >= 0) || seconds > 1e12) {
		(void)snprintf(out, SHOW_SIZE, "-");
		return;
	}
	s = (uint64_t)llround(seconds);
	if (seconds < 9.95)
		(void)snprintf(out, SHOW_SIZE, "%.1fs", seconds);
	else if (s < 60)
		(void)snprintf(out, SHOW_SIZE, "%" PRIu64 "s", s);
	else if (s < 3600)
		(void)snprintf(out, SHOW_SIZE, "%" PRIu64 "m %02" PRIu64 "s", s / 60, s % 60);
	else if (s < 86400)
		(void)snprintf(out, SHOW_SIZE, "%" PRIu64 "h %02" PRIu64 "m", s / 3600, s % 3600 / 60);
	else
		(void)snprintf(out, SHOW_SIZE, "%" PRIu64 "d %02" PRIu64 "h", s / 86400, s % 86400 / 3600);
}

void show_number(char out[SHOW_SIZE], double x)
{
	if (!isfinite(x))
		(void)snprintf(out, SHOW_SIZE, isnan(x) ? "-" : x > 0 ? "inf" : "-inf");
	else if (fabs(x) >= 1e5 || (x != 0 && fabs(x) < 1e-3))
		(void)snprintf(out, SHOW_SIZE, "%.3e", x);
	else
		(void)snprintf(out, SHOW_SIZE, "%.4f", x);
}

void show_time(char out[SHOW_SIZE], uint64_t unix_ms)
{
	time_t seconds = (time_t)(unix_ms / 1000);
	struct tm tm;
	char day[24];

	if (gmtime_r(&seconds, &tm) == NULL || strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		day[0] = '\0';
	(void)snprintf(out, SHOW_SIZE, "%s.%03uZ", day, (unsigned)(unix_ms % 1000));
}

void show_clock(char out[SHOW_SIZE], uint64_t unix_ms)
{
	time_t seconds = (time_t)(unix_ms / 1000);
	struct tm tm;

	if (localtime_r(&seconds, &tm) == NULL || strftime(out, SHOW_SIZE, "%H:%M:%S", &tm) == 0)
		out[0] = '\0';
}

/* Length of the printable UTF-8 sequence at p, 0 when it is none or a control character. */
static size_t printable(const unsigned char *p)
{
	size_t len = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;

	if (len == 1 && (p[0] < 0x20 || p[0] == 0x7f))
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return p[0] == 0xc2 && p[1] < 0xa0 ? 0 : len;
}

void show_clean(char *out, size_t size, const char *text)
{
	size_t used = 0;

	while (*text != '\0') {
		size_t len = printable((const unsigned char *)text);

		if (used + (len > 0 ? len : 1) >= size)
			break;
		if (len > 0)
			memcpy(out + used, text, len);
		else
			out[used] = '?';
		used += len > 0 ? len : 1;
		text += len > 0 ? len : 1;
	}
	out[used] = '\0';
}

static bool starts_with(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

void show_commands(char *out, size_t size, const char *hint, const char *prefix)
{
	static const char plain[] = "dadamctl";
	const char *begin = hint;
	size_t used = 0;

	out[0] = '\0';
	for (const char *at = strstr(hint, plain); at != NULL && used < size; at = strstr(at + 1, plain)) {
		const char *rest = at + strlen(plain);

		if (*rest != ' ' || (at > hint && at[-1] == '`') || starts_with(rest + 1, "--socket") || starts_with(rest + 1, "help"))
			continue;
		used += (size_t)snprintf(out + used, size - used, "%.*s%s", (int)(at - begin), begin, prefix);
		begin = rest;
	}
	if (used < size)
		(void)snprintf(out + used, size - used, "%s", begin);
}

size_t show_width(const char *text)
{
	size_t n = 0;

	for (; *text != '\0'; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

size_t show_fit(const char *text, size_t width)
{
	size_t i = 0, n = 0;

	for (; text[i] != '\0'; i++) {
		bool starts = ((unsigned char)text[i] & 0xc0) != 0x80;

		if (starts && n == width)
			break;
		n += starts;
	}
	return i;
}

void show_bar(char *out, size_t width, double share)
{
	size_t full = share > 0 ? (size_t)lround((share < 1 ? share : 1) * (double)width) : 0;

	memset(out, '#', full);
	memset(out + full, '-', width - full);
	out[width] = '\0';
}
