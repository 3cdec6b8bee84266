/* Numeric addresses as text. See netaddr.h. */
#include "daemon/io/netaddr.h"

#include <arpa/inet.h>
#include <net/if.h>
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

/* Cut "%INTERFACE" (a name, or its number) off a V6 address. 0: there is no such interface. */
static int take_scope(struct sockaddr_in6 *in6, char *ip)
{
	char *mark = strchr(ip, '%'), *end;
	unsigned long n;

	if (mark == NULL)
		return 1;
	*mark = '\0';
	in6->sin6_scope_id = if_nametoindex(mark + 1);
	if (in6->sin6_scope_id != 0)
		return 1;
	if (mark[1] < '0' || mark[1] > '9')
		return 0;
	n = strtoul(mark + 1, &end, 10);
	in6->sin6_scope_id = (uint32_t)n;
	return *end == '\0' && n != 0 && n <= UINT32_MAX;
}

static int parse_ip(struct sockaddr_storage *out, char *ip, uint16_t port)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

	memset(out, 0, sizeof *out);
	if (inet_pton(AF_INET, ip, &in.sin_addr) == 1)
		memcpy(out, &in, sizeof in);
	else if (take_scope(&in6, ip) && inet_pton(AF_INET6, ip, &in6.sin6_addr) == 1)
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
	if (len == 0)
		memcpy(ip, "0.0.0.0", 8);
	if (parse_ip(out, ip, port))
		return ST_OK;
bad:
	(void)error_set(err, ST_INVALID, "\"%.80s\" is no numeric address", text);
	error_hint(err, "write IP:PORT, [IP6]:PORT or :PORT, for example 127.0.0.1:17326");
	return ST_INVALID;
}

static void text_v6(char out[64], const struct sockaddr_in6 *in6)
{
	char ip[INET6_ADDRSTRLEN] = "?", name[IF_NAMESIZE];
	unsigned port = ntohs(in6->sin6_port);

	if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
		(void)inet_ntop(AF_INET, &in6->sin6_addr.s6_addr[12], ip, sizeof ip);
		(void)snprintf(out, 64, "%s:%u", ip, port);
		return;
	}
	(void)inet_ntop(AF_INET6, &in6->sin6_addr, ip, sizeof ip);
	if (in6->sin6_scope_id == 0)
		(void)snprintf(out, 64, "[%s]:%u", ip, port);
	else if (if_indextoname(in6->sin6_scope_id, name) != NULL)
		(void)snprintf(out, 64, "[%s%%%s]:%u", ip, name, port);
	else
		(void)snprintf(out, 64, "[%s%%%u]:%u", ip, in6->sin6_scope_id, port);
}

void netaddr_text(char out[64], const struct sockaddr_storage *ss)
{
	char ip[INET_ADDRSTRLEN] = "?";
	const struct sockaddr_in *in = (const void *)ss;

	if (ss->ss_family == AF_INET) {
		(void)inet_ntop(AF_INET, &in->sin_addr, ip, sizeof ip);
		(void)snprintf(out, 64, "%s:%u", ip, ntohs(in->sin_port));
	} else if (ss->ss_family == AF_INET6) {
		text_v6(out, (const void *)ss);
	} else {
		(void)snprintf(out, 64, "?");
	}
}

enum ip_class netaddr_class(const struct sockaddr_storage *ss)
{
	const struct sockaddr_in *in = (const void *)ss;
	const struct sockaddr_in6 *in6 = (const void *)ss;
	uint8_t v4[4];

	if (ss->ss_family == AF_INET6)
		return ip_class_v6(in6->sin6_addr.s6_addr);
	if (ss->ss_family != AF_INET)
		return IP_PUBLIC;
	memcpy(v4, &in->sin_addr, sizeof v4);
	return ip_class_v4(v4);
}

int netaddr_is_loopback(const struct sockaddr_storage *ss)
{
	return netaddr_class(ss) == IP_LOOPBACK;
}
