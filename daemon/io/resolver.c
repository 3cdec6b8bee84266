/* Seeds to addresses in a thread. See resolver.h.
 *
 * Two owners share one block: the loop (handle, results that were published) and the thread. Whoever
 * leaves last frees it, so closing never waits for getaddrinfo. */
#include "daemon/io/resolver.h"

#include "daemon/io/netaddr.h"

#include "libcore/base/mem.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define EAGER_PASSES 15U /* at 2 s: other hosts are just starting too */
#define EAGER_S 2
#define CALM_S 10

struct table {
	char addresses[RESOLVER_MAX_ADDRESSES][64];
	size_t n;
	char trouble[400];
};

struct shared {
	pthread_mutex_t lock;
	pthread_cond_t ended;
	unsigned owners;
	int closed;
	uv_async_t *async; /* the loop's; used under the lock while not closed */
	struct table table; /* of the last pass */
	char (*names)[256];
	size_t n_names;
	char default_port[8];
};

struct resolver {
	uv_async_t async;
	struct shared *shared;
	resolver_fn on_result;
	void *data;
	struct table table; /* a copy, for the call */
};

static void release(struct shared *s)
{
	int last;

	(void)pthread_mutex_lock(&s->lock);
	last = --s->owners == 0;
	(void)pthread_mutex_unlock(&s->lock);
	if (!last)
		return;
	(void)pthread_mutex_destroy(&s->lock);
	(void)pthread_cond_destroy(&s->ended);
	mem_free(s->names);
	mem_free(s);
}

/* ---- the thread ---- */

static void add_address(struct table *t, const struct addrinfo *ai)
{
	struct sockaddr_storage ss = {0};
	char text[64];

	if (t->n == RESOLVER_MAX_ADDRESSES || ai->ai_addrlen > sizeof ss)
		return;
	memcpy(&ss, ai->ai_addr, ai->ai_addrlen);
	netaddr_text(text, &ss);
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->addresses[i], text) == 0)
			return;
	memcpy(t->addresses[t->n++], text, sizeof text);
}

/* HOST, HOST:PORT, IP6, [IP6], [IP6]:PORT */
static void split(const char *name, const char *default_port, char host[256], char port[8])
{
	const char *colon = strrchr(name, ':');
	size_t len = strlen(name);

	(void)snprintf(port, 8, "%s", default_port);
	if (colon != NULL && (strchr(name, ':') == colon || colon[-1] == ']')) {
		(void)snprintf(port, 8, "%s", colon + 1);
		len = (size_t)(colon - name);
	}
	if (name[0] == '[' && len >= 2 && name[len - 1] == ']') {
		name++;
		len -= 2;
	}
	(void)snprintf(host, 256, "%.*s", (int)len, name);
}

static void resolve_one(struct table *t, const char *name, const char *default_port)
{
	struct addrinfo want = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *list = NULL;
	char host[256], port[8];
	size_t used = strlen(t->trouble);
	int code;

	split(name, default_port, host, port);
	code = getaddrinfo(host, port, &want, &list);
	if (code != 0) {
		(void)snprintf(t->trouble + used, sizeof t->trouble - used, "%s%s: %s", used > 0 ? "; " : "",
				name, code == EAI_SYSTEM ? strerror(errno) : gai_strerror(code));
		return;
	}
	for (const struct addrinfo *ai = list; ai != NULL; ai = ai->ai_next)
		add_address(t, ai);
	freeaddrinfo(list);
}

/* Hand the table to the loop; 0 when the loop has left. */
static int publish(struct shared *s, const struct table *t)
{
	int open;

	(void)pthread_mutex_lock(&s->lock);
	open = !s->closed;
	if (open) {
		s->table = *t;
		(void)uv_async_send(s->async);
	}
	(void)pthread_mutex_unlock(&s->lock);
	return open;
}

/* Sleep until the next pass, or less when the loop leaves. */
static void pause_for(struct shared *s, int seconds)
{
	struct timespec until;

	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += seconds;
	(void)pthread_mutex_lock(&s->lock);
	while (!s->closed && pthread_cond_timedwait(&s->ended, &s->lock, &until) != ETIMEDOUT)
		;
	(void)pthread_mutex_unlock(&s->lock);
}

static void *run(void *arg)
{
	struct shared *s = arg;
	struct table *t = mem_alloc(1, sizeof *t);

	for (unsigned pass = 0; t != NULL; pass++) {
		memset(t, 0, sizeof *t);
		for (size_t i = 0; i < s->n_names; i++)
			resolve_one(t, s->names[i], s->default_port);
		if (!publish(s, t))
			break;
		pause_for(s, pass < EAGER_PASSES ? EAGER_S : CALM_S);
	}
	mem_free(t);
	release(s);
	return NULL;
}

/* ---- the loop ---- */

static void on_published(uv_async_t *a)
{
	struct resolver *r = a->data;

	(void)pthread_mutex_lock(&r->shared->lock);
	r->table = r->shared->table;
	(void)pthread_mutex_unlock(&r->shared->lock);
	r->on_result(r->data, (const char(*)[64])r->table.addresses, r->table.n, r->table.trouble);
}

static struct shared *shared_create(const char (*names)[256], size_t n, const char *default_port)
{
	struct shared *s = mem_alloc(1, sizeof *s);
	pthread_condattr_t attr;

	if (s == NULL)
		return NULL;
	s->names = mem_alloc(n, sizeof *s->names);
	if (s->names == NULL) {
		mem_free(s);
		return NULL;
	}
	memcpy(s->names, names, n * sizeof *names);
	s->n_names = n;
	s->owners = 1;
	(void)snprintf(s->default_port, sizeof s->default_port, "%s", default_port);
	(void)pthread_mutex_init(&s->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&s->ended, &attr);
	(void)pthread_condattr_destroy(&attr);
	return s;
}

static int start_thread(struct shared *s)
{
	pthread_attr_t attr;
	pthread_t thread;
	int code;

	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	(void)pthread_attr_setstacksize(&attr, (size_t)256 * 1024);
	s->owners++;
	code = pthread_create(&thread, &attr, run, s);
	(void)pthread_attr_destroy(&attr);
	if (code != 0)
		s->owners--;
	return code;
}

enum status resolver_start(struct resolver **out, uv_loop_t *loop, const char (*names)[256], size_t n,
		const char *default_port, resolver_fn on_result, void *data, struct error *err)
{
	struct resolver *r;

	*out = NULL;
	if (n == 0)
		return ST_OK;
	r = mem_alloc(1, sizeof *r);
	if (r != NULL)
		r->shared = shared_create(names, n, default_port);
	if (r == NULL || r->shared == NULL || uv_async_init(loop, &r->async, on_published) != 0) {
		if (r != NULL && r->shared != NULL)
			release(r->shared);
		mem_free(r);
		return error_set(err, ST_NOMEM, "no memory for the resolver");
	}
	r->async.data = r;
	r->on_result = on_result;
	r->data = data;
	r->shared->async = &r->async;
	if (start_thread(r->shared) != 0) {
		resolver_close(r);
		return error_set(err, ST_IO, "no thread for the resolver");
	}
	*out = r;
	return ST_OK;
}

static void on_closed(uv_handle_t *h)
{
	struct resolver *r = h->data;

	release(r->shared);
	mem_free(r);
}

void resolver_close(struct resolver *r)
{
	if (r == NULL)
		return;
	(void)pthread_mutex_lock(&r->shared->lock);
	r->shared->closed = 1;
	(void)pthread_cond_signal(&r->shared->ended);
	(void)pthread_mutex_unlock(&r->shared->lock);
	uv_close((uv_handle_t *)&r->async, on_closed);
}
