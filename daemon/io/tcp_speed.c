/* A file of its own: linux/tcp.h, which knows the figure, and netinet/tcp.h, which uv.h brings, cannot
 * be included together. See tcp_speed.h. */
#include "daemon/io/tcp_speed.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

double tcp_speed(int fd)
{
	struct tcp_info info;
	socklen_t len = sizeof info;

	memset(&info, 0, sizeof info);
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0 ||
			len < offsetof(struct tcp_info, tcpi_delivery_rate) + sizeof info.tcpi_delivery_rate)
		return 0;
	return (double)info.tcpi_delivery_rate;
}
