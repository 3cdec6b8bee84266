/* Numeric addresses as text. See netaddr.h. */
#include "daemon/io/netaddr.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int parse_port(const char *text, uint16_t *port)
{
	char *end;
	unsigned long n;

	if (text[0] < '0' || text[0] > '9')
		return 0;
	n = strtoul(text, &end, 10);
	*port = (uint16_t)n;
	return *end == '\0' && n <= 65535;
}

static int parse_ip(struct sockaddr_storage *out, const char *ip, uint16_t port)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

	memset(out, 0, sizeof *out);
	if (inet_pton(AF_INET, ip, &in.sin_addr) == 1)
		memcpy(out, &in, sizeof in);
	else if (inet_pton(AF_INET6, ip, &in6.sin6_addr) == 1)
		memcpy(out, &in6, sizeof in6);
	else
		return 0;
	return 1;
}

enum status netaddr_parse(struct sockaddr_storage *out, const char *text, struct error *err)
{
	const char *colon = strrchr(text, ':');
	size_t len = colon == NULL ? 0 : (size_t)(colon - text);
	char ip[64] = "";
	uint16_t port;

	if (colon == NULL || len >= sizeof ip || !parse_port(colon + 1, &port))
		goto bad;
	memcpy(ip, text, len);
	if (ip[0] == '[') {
		if (ip[len - 1] != ']')
			goto bad;
		ip[len - 1] = '\0';
		memmove(ip, ip + 1, len - 1);
	} else if (strchr(ip, ':') != NULL) {
		goto bad;
	}
	if (parse_ip(out, len == 0 ? "0.0.0.0" : ip, port))
		return ST_OK;
bad:
	(void)error_set(err, ST_INVALID, "\"%.80s\" is no numeric address", text);
	error_hint(err, "write IP:PORT, [IP6]:PORT or :PORT, for example 127.0.0.1:17326");
	return ST_INVALID;
}

void netaddr_text(char out[64], const struct sockaddr_storage *ss)
{
	char ip[INET6_ADDRSTRLEN] = "?";
	const struct sockaddr_in *in = (const void *)ss;
	const struct sockaddr_in6 *in6 = (const void *)ss;

	if (ss->ss_family == AF_INET) {
		(void)inet_ntop(AF_INET, &in->sin_addr, ip, sizeof ip);
		(void)snprintf(out, 64, "%s:%u", ip, ntohs(in->sin_port));
	} else if (ss->ss_family == AF_INET6) {
		(void)inet_ntop(AF_INET6, &in6->sin6_addr, ip, sizeof ip);
		(void)snprintf(out, 64, "[%s]:%u", ip, ntohs(in6->sin6_port));
	} else {
		(void)snprintf(out, 64, "?");
	}
}

int netaddr_is_loopback(const struct sockaddr_storage *ss)
{
	const struct sockaddr_in *in = (const void *)ss;
	const struct sockaddr_in6 *in6 = (const void *)ss;

	if (ss->ss_family == AF_INET)
		return ntohl(in->sin_addr.s_addr) >> 24 == 127;
	return ss->ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}
