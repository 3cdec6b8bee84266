/* The daemon's part, played. See worker_driver.h. */
#include "tests/integration/worker_driver.h"

#include "libcore/base/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define QUEUE_FULL ((size_t)1 << 20)

static const char *build_path(const char *below)
{
	const char *build = getenv("DADAM_BUILD");
	char *out = NULL;

	if (build == NULL || asprintf(&out, "%s/%s", build, below) < 0)
		driver_die("DADAM_BUILD is not set: run this by meson test");
	return out;
}

void driver_init(struct driver *d, uint32_t n, const char *plugin, const char *spec)
{
	char below[128];

	memset(d, 0, sizeof *d);
	snprintf(below, sizeof below, strcmp(plugin, "deepfm") == 0 ? "libcore/models/%s.so" : "tests/plugins/%s.so", plugin);
	d->n = n;
	d->worker = build_path("daemon/worker/dadam-worker");
	d->plugin_path = build_path(below);
	d->spec = spec;
	d->victim = -1;
	d->kill_signal = SIGKILL;
	strcpy(d->dir, "/tmp/dadam-worker-XXXXXX");
	if (mkdtemp(d->dir) == NULL)
		driver_die("mkdtemp: %s", strerror(errno));
	for (uint32_t r = 0; r < n; r++) {
		d->ranks[r].fd = -1;
		d->neighbours[r] = n < 2 ? 0 : 1ULL << (r + 1) % n | 1ULL << (r + n - 1) % n;
	}
}

/* ---- starting ---- */

static void spawn(struct driver *d, uint32_t r)
{
	int sv[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) != 0)
		driver_die("socketpair: %s", strerror(errno));
	fflush(stdout);
	d->ranks[r].pid = fork();
	if (d->ranks[r].pid < 0)
		driver_die("fork: %s", strerror(errno));
	if (d->ranks[r].pid == 0) {
		if (d->keep_stderr && (chdir(d->dir) != 0 || freopen("stderr", "a", stderr) == NULL))
			_exit(127);
		if (sv[1] == 3)
			fcntl(3, F_SETFD, 0);
		else
			dup2(sv[1], 3);
		execl(d->worker, d->worker, (char *)NULL);
		fprintf(stderr, "%s: %s\n", d->worker, strerror(errno));
		_exit(127);
	}
	close(sv[1]);
	d->ranks[r].fd = sv[0];
}

static void send_bytes(struct driver *d, uint32_t rank, const struct buf *bytes, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {{0}};
	struct iovec part = {.iov_base = bytes->data, .iov_len = bytes->len};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};

	if (fd >= 0) {
		struct cmsghdr *c;

		m.msg_control = control.bytes;
		m.msg_controllen = sizeof control.bytes;
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof fd);
		memcpy(CMSG_DATA(c), &fd, sizeof fd);
	}
	if (d->ranks[rank].fd >= 0)
		(void)!sendmsg(d->ranks[rank].fd, &m, MSG_NOSIGNAL); /* a dead worker is seen by its end */
	if (fd >= 0)
		close(fd);
}

static void send_msg(struct driver *d, uint32_t rank, const struct worker_msg *m, int fd)
{
	struct buf bytes = {0};
	struct error err = {0};

	if (worker_encode(&bytes, m, &err) != ST_OK)
		driver_die("worker_encode: %s", err.msg);
	send_bytes(d, rank, &bytes, fd);
	buf_fini(&bytes);
}

void driver_send(struct driver *d, uint32_t rank, const struct worker_msg *m)
{
	send_msg(d, rank, m, -1);
}

static void setup(struct driver *d, uint32_t r)
{
	struct frame_limits limits = {.max_head = FRAME_MAX_HEAD, .max_payload = FRAME_MAX_PAYLOAD_CONTROL};
	struct worker_msg m = {.type = WORKER_SETUP};
	struct worker_setup *s = &m.u.setup;
	char names[] = "a\nb\nc\nd\ne\nf\ng\nh";

	s->job.b[0] = 0xd1;
	strcpy(s->job_name, "test");
	s->rank = r + d->said_first;
	s->n_ranks = d->n_said != 0 ? d->n_said : d->n;
	s->neighbours = d->neighbours[r];
	s->joins = d->joins >> r & 1;
	s->rows_of = s->joins; /* all rows */
	s->spec = strdup(d->spec);
	s->names = strdup(names);
	snprintf(s->plugin_path, sizeof s->plugin_path, "%s", d->plugin_path);
	snprintf(s->data_roots, sizeof s->data_roots, "%s", d->dir);
	snprintf(s->job_dir, sizeof s->job_dir, "%s/%u", d->dir, r);
	if (mkdir(s->job_dir, 0700) != 0 || frame_parser_create(&d->ranks[r].parser, &limits, NULL) != ST_OK)
		driver_die("%s: %s", s->job_dir, strerror(errno));
	driver_send(d, r, &m);
	free(s->spec);
	free(s->names);
}

void driver_start(struct driver *d)
{
	for (uint32_t r = 0; r < d->n; r++)
		spawn(d, r);
	for (uint32_t r = 0; r < d->n; r++)
		setup(d, r);
}

void driver_late(struct driver *d)
{
	uint32_t r = d->n++;

	d->joins |= 1ULL << r;
	spawn(d, r);
	setup(d, r);
}

/* ---- links ---- */

void driver_tcp_pair(int fd[2])
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof a;
	int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (l < 0 || bind(l, (void *)&a, sizeof a) != 0 || listen(l, 1) != 0 || getsockname(l, (void *)&a, &len) != 0)
		driver_die("listen: %s", strerror(errno));
	fd[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd[0] < 0 || connect(fd[0], (void *)&a, sizeof a) != 0)
		driver_die("connect: %s", strerror(errno));
	fd[1] = accept4(l, NULL, NULL, SOCK_CLOEXEC);
	if (fd[1] < 0)
		driver_die("accept: %s", strerror(errno));
	close(l);
	for (int i = 0; i < 2; i++) /* as the daemon's are: the flag travels with the socket */
		fcntl(fd[i], F_SETFL, O_NONBLOCK);
}

void driver_hand_over(struct driver *d, uint32_t to, uint32_t peer, int accepted, int fd)
{
	struct worker_msg m = {.type = WORKER_LINK_HANDOVER,
			.u.handover = {.link = d->link_number, .rank = peer, .accepted = (uint8_t)accepted}};

	send_msg(d, to, &m, fd);
}

static void add_pipe(struct driver *d, int from, int to, uint32_t rank, uint32_t peer)
{
	if (d->n_pipes == 2 * DRIVER_MAX_PROXIES)
		driver_die("too many links for the proxy");
	d->pipes[d->n_pipes++] = (struct driver_pipe){.from = from, .to = to, .rank = rank, .peer = peer};
}

void driver_link(struct driver *d, uint32_t a, uint32_t b)
{
	int one[2], two[2];

	d->link_number++;
	driver_tcp_pair(one);
	if (!d->proxy) {
		driver_hand_over(d, a, b, 0, one[0]);
		driver_hand_over(d, b, a, 1, one[1]);
		return;
	}
	driver_tcp_pair(two);
	add_pipe(d, one[1], two[0], a, b);
	add_pipe(d, two[0], one[1], b, a);
	driver_hand_over(d, a, b, 0, one[0]);
	driver_hand_over(d, b, a, 1, two[1]);
}

static void link_all(struct driver *d)
{
	for (uint32_t r = 0; r < d->n; r++)
		if (!d->ranks[r].ready && (d->gone >> r & 1) == 0)
			return;
	d->linked = 1;
	for (uint32_t a = 0; a < d->n; a++)
		for (uint32_t b = a + 1; b < d->n; b++)
			if ((d->neighbours[a] >> b & 1) != 0 && ((d->gone >> a | d->gone >> b) & 1) == 0)
				driver_link(d, a, b);
}

/* ---- killing at a frame ---- */

void driver_kill(struct driver *d, uint32_t rank, int sig)
{
	if (d->ranks[rank].fd >= 0)
		kill(d->ranks[rank].pid, sig);
}

/* One more frame. 1: the link that it is on ends with it: the victim's, or any when only links are cut. */
static int count_frame(struct driver *d, const struct driver_pipe *p)
{
	uint32_t victim = (uint32_t)d->victim;

	if (d->victim < 0 && p == NULL)
		return 0; /* only frames on links count */
	d->frames++;
	if (d->killed || d->frames != d->kill_at)
		return 0;
	if (d->victim < 0)
		return d->killed = 1;
	d->killed = 1;
	driver_kill(d, victim, d->kill_signal);
	return d->kill_signal == SIGKILL && p != NULL && (p->rank == victim || p->peer == victim);
}

/* ---- the proxy ---- */

static void close_pipe(struct driver *d, struct driver_pipe *p)
{
	int a = p->from, b = p->to;

	for (unsigned i = 0; i < d->n_pipes; i++)
		if (d->pipes[i].from == a || d->pipes[i].from == b)
			d->pipes[i].from = d->pipes[i].to = -1;
	close(a);
	close(b);
}

/* How many of these n bytes may pass: all, or those before (the middle of) the frame at which the
 * victim dies. */
static size_t look_at(struct driver *d, struct driver_pipe *p, const uint8_t *data, size_t n)
{
	size_t at = 0;

	while (at < n) {
		size_t take;

		if (p->header_len < FRAME_HEADER_BYTES) {
			p->header[p->header_len++] = data[at++];
			if (p->header_len < FRAME_HEADER_BYTES)
				continue;
			p->left = (size_t)bytes_load_u32(p->header + 8) + bytes_load_u32(p->header + 12);
			if (count_frame(d, p))
				return d->kill_middle ? at + (p->left < n - at ? p->left : n - at) / 2 : at - 1;
		}
		take = p->left < n - at ? p->left : n - at;
		at += take;
		p->left -= take;
		if (p->left == 0)
			p->header_len = 0;
	}
	return n;
}

static void flush_pipe(struct driver *d, struct driver_pipe *p)
{
	while (p->from >= 0 && p->queue.len > 0) {
		ssize_t n = send(p->to, p->queue.data, p->queue.len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0)
			close_pipe(d, p);
		else
			buf_consume(&p->queue, (size_t)n);
	}
}

static void read_pipe(struct driver *d, struct driver_pipe *p)
{
	static uint8_t data[64 * 1024];
	ssize_t n = read(p->from, data, sizeof data);
	size_t pass;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) { /* an end is passed on; the other direction may still have something to say */
		shutdown(p->to, SHUT_WR);
		p->left = SIZE_MAX;
		return;
	}
	pass = look_at(d, p, data, (size_t)n);
	if (buf_append(&p->queue, data, pass) != ST_OK)
		driver_die("out of memory");
	flush_pipe(d, p);
	if (pass < (size_t)n && p->from >= 0)
		close_pipe(d, p);
}

/* ---- what workers say ---- */

static void look_at_row(struct driver_rank *r, const char *text)
{
	const char *at = strstr(text, "row sum ");
	double off;

	if (at == NULL)
		return;
	r->n_rows++;
	off = strtod(at + 8, NULL) - 1;
	off = off < 0 ? -off : off;
	if (!(off <= r->worst_row))
		r->worst_row = off;
}

/* A link between two that live is made anew once both have seen its end, as daemons do. */
static void on_link_state(struct driver *d, struct driver_rank *r, const struct worker_link_state *link)
{
	uint32_t self = (uint32_t)(r - d->ranks), peer = link->rank;

	if (peer >= DRIVER_MAX_RANKS)
		driver_die("link state of rank %u", peer);
	if (link->up) {
		r->links_up |= 1ULL << peer;
		return;
	}
	r->links_up &= ~(1ULL << peer);
	memcpy(r->link_why[peer], link->why, sizeof link->why);
	r->links_ended |= 1ULL << peer;
	if ((d->ranks[peer].links_ended >> self & 1) == 0 || ((d->gone >> self | d->gone >> peer) & 1) != 0)
		return;
	if (r->done || d->ranks[peer].done || (d->neighbours[self] >> peer & 1) == 0)
		return;
	r->links_ended &= ~(1ULL << peer);
	d->ranks[peer].links_ended &= ~(1ULL << self);
	d->n_mended++;
	driver_link(d, self, peer);
}

static void on_msg(struct driver *d, struct driver_rank *r, const struct worker_msg *m)
{
	switch (m->type) {
	case WORKER_READY:
		r->ready = 1;
		r->last = m->u.progress;
		break;
	case WORKER_PROGRESS:
		r->last = m->u.progress;
		break;
	case WORKER_LOG:
		if (buf_printf(&r->log, "%s\n", m->u.log.text) != ST_OK)
			driver_die("out of memory");
		look_at_row(r, m->u.log.text);
		break;
	case WORKER_LINK_STATE:
		on_link_state(d, r, &m->u.link_state);
		break;
	case WORKER_MEAN:
		r->has_mean = 1;
		r->mean = m->u.mean;
		break;
	case WORKER_DONE:
		r->done = 1;
		break;
	case WORKER_FAILED:
		r->failed = 1;
		r->why = m->u.failed;
		break;
	case WORKER_SETUP:
	case WORKER_LINK_HANDOVER:
	case WORKER_RANK_GONE:
	case WORKER_ORDER:
	case WORKER_COLLECT:
	case WORKER_QUIT:
	case WORKER_ROSTER:
		driver_die("a worker said %s", worker_type_text(m->type));
	}
}

static void on_end(struct driver *d, uint32_t rank)
{
	struct driver_rank *r = &d->ranks[rank];
	struct worker_msg gone = {.type = WORKER_RANK_GONE, .u.gone = {.rank = rank, .why = "its worker ended"}};

	close(r->fd);
	r->fd = -1;
	waitpid(r->pid, &r->status, 0);
	d->gone |= 1ULL << rank;
	for (uint32_t k = 0; !r->done && k < d->n; k++)
		driver_send(d, k, &gone);
}

static void read_rank(struct driver *d, uint32_t rank)
{
	static uint8_t data[64 * 1024];
	struct driver_rank *r = &d->ranks[rank];
	ssize_t n = read(r->fd, data, sizeof data);
	const uint8_t *at = data;
	size_t left = n > 0 ? (size_t)n : 0;

	if (n <= 0) {
		on_end(d, rank);
		return;
	}
	while (left > 0) {
		struct frame f;
		struct worker_msg m;
		struct error err = {0};
		int done = 0;

		if (frame_parser_feed(r->parser, &at, &left, &f, &done, &err) != ST_OK)
			driver_die("rank %u: %s", rank, err.msg);
		if (!done)
			continue;
		if (worker_decode(&m, &f, &err) != ST_OK)
			driver_die("rank %u: %s", rank, err.msg);
		on_msg(d, r, &m);
		if (d->on_msg != NULL)
			d->on_msg(d, rank, &m, d->on_msg_data);
		worker_msg_fini(&m);
		(void)count_frame(d, NULL);
	}
}

/* ---- the daemon's part ---- */

/* Once all that are left are trained, the lowest of them writes the plan. */
static void plan_mean(struct driver *d)
{
	uint64_t left = 0;
	uint32_t lowest = d->n;

	for (uint32_t r = d->n; r-- > 0;) {
		if (d->ranks[r].fd < 0 || d->ranks[r].failed)
			continue;
		if (d->ranks[r].last.state != CONTROL_RANK_TRAINED && d->ranks[r].last.state != CONTROL_RANK_DONE)
			return;
		left |= 1ULL << r;
		lowest = r;
	}
	for (uint32_t r = 0; lowest < d->n && r < d->n; r++) {
		struct worker_msg m = {.type = WORKER_COLLECT, .u.collect = {.plan = 1 + lowest, .ranks = left}};

		if ((left >> r & 1) == 0 || d->ranks[r].collect_plan >= 1 + lowest || d->ranks[r].done)
			continue;
		d->ranks[r].collect_plan = 1 + lowest;
		driver_send(d, r, &m);
	}
}

void driver_poll(struct driver *d, int wait_ms)
{
	struct pollfd p[DRIVER_MAX_RANKS + 2 * DRIVER_MAX_PROXIES];

	for (uint32_t r = 0; r < d->n; r++)
		p[r] = (struct pollfd){.fd = d->ranks[r].fd, .events = POLLIN};
	for (unsigned i = 0; i < d->n_pipes; i++) {
		struct driver_pipe *q = &d->pipes[i];
		int over = q->left == SIZE_MAX || q->queue.len >= QUEUE_FULL;

		p[d->n + i] = (struct pollfd){.fd = over ? -1 : q->from, .events = POLLIN};
		if (q->from >= 0 && q->queue.len > 0)
			flush_pipe(d, q), wait_ms = wait_ms > 1 ? 1 : wait_ms;
	}
	if (poll(p, d->n + d->n_pipes, wait_ms) < 0 && errno != EINTR)
		driver_die("poll: %s", strerror(errno));
	for (unsigned i = 0; i < d->n_pipes; i++)
		if (p[d->n + i].revents != 0 && d->pipes[i].from == p[d->n + i].fd)
			read_pipe(d, &d->pipes[i]);
	for (uint32_t r = 0; r < d->n; r++)
		if (p[r].revents != 0 && d->ranks[r].fd >= 0)
			read_rank(d, r);
	if (!d->linked && !d->no_links)
		link_all(d);
	if (!d->no_mean)
		plan_mean(d);
}

static int all_ended(const struct driver *d, void *data)
{
	(void)data;
	for (uint32_t r = 0; r < d->n; r++)
		if (d->ranks[r].fd >= 0)
			return 0;
	return 1;
}

int driver_until(struct driver *d, int (*cond)(const struct driver *d, void *data), void *data, int deadline_ms)
{
	uint64_t end = driver_now_ms() + (uint64_t)deadline_ms;

	while (!cond(d, data)) {
		if (driver_now_ms() >= end)
			return -1;
		driver_poll(d, 20);
	}
	return 0;
}

int driver_run(struct driver *d, int deadline_ms)
{
	return driver_until(d, all_ended, NULL, deadline_ms);
}

void driver_fini(struct driver *d)
{
	char command[128];

	for (uint32_t r = 0; r < d->n; r++) {
		if (d->ranks[r].fd >= 0) {
			kill(d->ranks[r].pid, SIGKILL);
			waitpid(d->ranks[r].pid, NULL, 0);
			close(d->ranks[r].fd);
		}
		frame_parser_destroy(d->ranks[r].parser);
		buf_fini(&d->ranks[r].log);
	}
	for (unsigned i = 0; i < d->n_pipes; i++) {
		if (d->pipes[i].from >= 0)
			close_pipe(d, &d->pipes[i]);
		buf_fini(&d->pipes[i].queue);
	}
	snprintf(command, sizeof command, "rm -r %s", d->dir);
	if (system(command) != 0)
		driver_die("%s failed", command);
	free((void *)(uintptr_t)d->worker);
	free((void *)(uintptr_t)d->plugin_path);
}
