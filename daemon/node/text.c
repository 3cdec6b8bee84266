/* Short sentences in fixed places. See text.h. */
#include "daemon/node/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void text_put(char *dst, size_t size, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(dst, size, fmt, args);
	va_end(args);
}

void text_add(char *dst, size_t size, const char *fmt, ...)
{
	size_t len = strnlen(dst, size);
	va_list args;

	if (len + 1 >= size)
		return;
	va_start(args, fmt);
	(void)vsnprintf(dst + len, size - len, fmt, args);
	va_end(args);
}

void text_add_item(char *dst, size_t size, const char *item)
{
	static const char more[] = "...";
	size_t len = strnlen(dst, size);

	if (len >= strlen(more) && strcmp(dst + len - strlen(more), more) == 0)
		return;
	if (len + strlen(item) + sizeof ", , ..." > size)
		item = more;
	text_add(dst, size, "%s%s", len > 0 ? ", " : "", item);
}

/* The part before the port; the whole text when there is no colon. */
static size_t host_len(const char *address)
{
	const char *colon = strrchr(address, ':');

	return colon != NULL ? (size_t)(colon - address) : strlen(address);
}

static int begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

int text_is_loopback(const char *address)
{
	return begins(address, "127.") || begins(address, "[::1]:");
}

int text_is_link_local(const char *address)
{
	return begins(address, "169.254.") || begins(address, "[fe8") || begins(address, "[fe9") || begins(address, "[fea") ||
			begins(address, "[feb") || strchr(address, '%') != NULL;
}

void text_address(char *dst, size_t size, const char *said, const char *seen)
{
	size_t len = host_len(said);
	int nowhere = len == 0 || (len == 7 && strncmp(said, "0.0.0.0", len) == 0) ||
			(len == 4 && strncmp(said, "[::]", len) == 0);

	if (said[0] == '\0')
		text_put(dst, size, "%s", "");
	else if (nowhere)
		text_put(dst, size, "%.*s%s", (int)host_len(seen), seen, said + len);
	else
		text_put(dst, size, "%s", said);
}
