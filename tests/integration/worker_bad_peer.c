/* One worker and its bad neighbour. See worker_bad_peer.h. */
#include "tests/integration/worker_bad_peer.h"

#include <string.h>
#include <sys/socket.h>

void bad_peer_put(struct buf *out, const struct link_msg *m)
{
	struct error err = {0};

	if (link_encode(out, m, &err) != ST_OK)
		driver_die("link_encode: %s", err.msg);
}

void bad_peer_put_payload(struct buf *out, const struct link_msg *m, int fill, uint32_t len)
{
	struct blob *b = blob_create(len);
	struct error err = {0};

	if (b == NULL)
		driver_die("out of memory");
	memset(b->payload, fill, len);
	b->payload_len = len;
	if (link_seal(b, m, &err) != ST_OK || buf_append(out, b->bytes, b->head_len) != ST_OK ||
			buf_append(out, b->payload, len) != ST_OK)
		driver_die("link_seal: %s", err.msg);
	blob_unref(b);
}

static int is_ready(const struct driver *d, void *data)
{
	(void)data;
	return d->ranks[0].ready;
}

int bad_peer_link(struct driver *d, uint32_t peer)
{
	int fd[2];

	d->n_said = 2;
	d->said_first = 1 - peer;
	d->neighbours[0] = 1U << peer;
	d->no_links = 1;
	driver_start(d);
	if (driver_until(d, is_ready, NULL, BAD_PEER_DEADLINE_MS) != 0)
		driver_die("the worker did not get ready");
	driver_tcp_pair(fd);
	driver_hand_over(d, 0, peer, 1, fd[0]);
	return fd[1];
}

void bad_peer_say(int fd, void (*say)(struct buf *out))
{
	struct buf out = {0};

	say(&out);
	(void)!send(fd, out.data, out.len, MSG_NOSIGNAL);
	buf_fini(&out);
}
