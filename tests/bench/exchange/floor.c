/* The floor of an exchange: P processes on a ring, each sends its whole float vector to both neighbours
 * and averages, x = (x + left + right) / 3. Hand-written plain TCP, one thread, poll; no frames, no
 * checksums, no rounds to agree on. What a worker's exchange costs beside this is what the rest costs.
 *
 * With int8 what travels is the difference to a replica: blocks of 256, absmax / 127, a byte a number; everybody
 * advances his replicas, x += (left + right - 2 own) / 3.
 *
 *   floor D ROUNDS P CONGESTION [int8]     prints: seconds a round, CPU seconds a round and process */
#include <arpa/inet.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_P 16
#define BLOCK 256
#define CHUNK ((size_t)1 << 20)
#define HUGE_PAGE ((size_t)2 << 20)

struct shared {
	atomic_int arrived, turn;
	double wall[MAX_P], cpu[MAX_P];
};

struct side { /* one neighbour */
	int fd;
	size_t sent, got;
	float *in;      /* what came: floats, or int8 and then a scale a block */
	float *replica; /* int8 */
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double cpu_seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void *pages(size_t bytes, int flags)
{
	size_t len = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	char *p = mmap(NULL, len + HUGE_PAGE, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		exit(1);
	p += HUGE_PAGE - (uintptr_t)p % HUGE_PAGE;
	madvise(p, len, MADV_HUGEPAGE);
	memset(p, 0, len);
	return p;
}

static void barrier(struct shared *s, int p)
{
	int turn = atomic_load(&s->turn);

	if (atomic_fetch_add(&s->arrived, 1) == p - 1) {
		atomic_store(&s->arrived, 0);
		atomic_fetch_add(&s->turn, 1);
		return;
	}
	while (atomic_load(&s->turn) == turn)
		sched_yield();
}

static void tune(int fd, const char *cc)
{
	int one = 1;

	if (cc[0] != '-' && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, (socklen_t)strlen(cc)) != 0)
		perror(cc);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	fcntl(fd, F_SETFL, O_NONBLOCK);
}

static void make_edge(int fd[2], const char *cc)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof a;
	int l = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(l, (void *)&a, sizeof a) != 0 || listen(l, 1) != 0 || getsockname(l, (void *)&a, &len) != 0)
		exit(1);
	fd[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(fd[0], (void *)&a, sizeof a) != 0)
		exit(1);
	fd[1] = accept(l, NULL, NULL);
	close(l);
	tune(fd[0], cc);
	tune(fd[1], cc);
}

/* 1 when something moved. */
static int move(struct side *k, const float *x, size_t bytes)
{
	int moved = 0;

	if (k->got < bytes) {
		size_t want = bytes - k->got < CHUNK ? bytes - k->got : CHUNK;
		ssize_t n = read(k->fd, (char *)k->in + k->got, want);

		if (n == 0)
			_exit(1);
		k->got += n > 0 ? (size_t)n : 0;
		moved |= n > 0;
	}
	if (k->sent < bytes) {
		size_t want = bytes - k->sent < CHUNK ? bytes - k->sent : CHUNK;
		ssize_t n = write(k->fd, (const char *)x + k->sent, want);

		k->sent += n > 0 ? (size_t)n : 0;
		moved |= n > 0;
	}
	return moved;
}

static void exchange(struct side side[2], const float *x, size_t bytes)
{
	for (int k = 0; k < 2; k++)
		side[k].sent = side[k].got = 0;
	while (side[0].sent < bytes || side[1].sent < bytes || side[0].got < bytes || side[1].got < bytes) {
		struct pollfd p[2];

		if (move(&side[0], x, bytes) + move(&side[1], x, bytes) > 0)
			continue;
		for (int k = 0; k < 2; k++)
			p[k] = (struct pollfd){.fd = side[k].fd,
					.events = (short)((side[k].got < bytes ? POLLIN : 0) | (side[k].sent < bytes ? POLLOUT : 0))};
		poll(p, 2, 1000);
	}
}

static void average(float *restrict x, const float *restrict l, const float *restrict r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] = (x[i] + l[i] + r[i]) * (1.F / 3);
}

/* Of one block: bytes of x - own, and own moves by what they say. */
static float pack_block(int8_t *restrict q, const float *restrict x, float *restrict own, size_t n)
{
	uint32_t top = 0;
	float most, scale, by;

	for (size_t i = 0; i < n; i++) { /* floats above 0 are in the order of their bits: this loop becomes vectors */
		union {
			float f;
			uint32_t u;
		} v = {fabsf(x[i] - own[i])};

		top = v.u > top ? v.u : top;
	}
	memcpy(&most, &top, sizeof most);
	scale = most / 127;
	by = most > 0 ? 127 / most : 0;
	for (size_t i = 0; i < n; i++) {
		q[i] = (int8_t)(int)rintf((x[i] - own[i]) * by);
		own[i] += scale * (float)q[i];
	}
	return scale;
}

static void pack(int8_t *q, float *scale, const float *x, float *own, size_t d)
{
	for (size_t i = 0; i < d; i += BLOCK)
		scale[i / BLOCK] = pack_block(q + i, x + i, own + i, d - i < BLOCK ? d - i : BLOCK);
}

static inline void advance_block(float *restrict replica, const int8_t *restrict q, float scale, size_t n)
{
	for (size_t i = 0; i < n; i++)
		replica[i] += scale * (float)q[i];
}

static void advance(float *replica, const int8_t *q, const float *scale, size_t d)
{
	size_t i = 0;

	for (; d - i >= BLOCK; i += BLOCK) /* a whole block becomes vectors without a look at each number */
		advance_block(replica + i, q + i, scale[i / BLOCK], BLOCK);
	if (i < d)
		advance_block(replica + i, q + i, scale[i / BLOCK], d - i);
}

static void gossip(float *restrict x, const float *restrict own, const float *restrict l, const float *restrict r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] += ((l[i] - own[i]) + (r[i] - own[i])) * (1.F / 3);
}

/* Bytes of a packed vector, its scales at a multiple of four. */
static size_t scales_at(size_t d)
{
	return (d + 3) / 4 * 4;
}

static void round_int8(struct side side[2], float *x, float *own, float *out, size_t d)
{
	size_t at = scales_at(d), bytes = at + (d + BLOCK - 1) / BLOCK * sizeof(float);

	pack((int8_t *)out, out + at / sizeof(float), x, own, d);
	exchange(side, out, bytes);
	for (int k = 0; k < 2; k++)
		advance(side[k].replica, (const int8_t *)side[k].in, side[k].in + at / sizeof(float), d);
	gossip(x, own, side[0].replica, side[1].replica, d);
}

static void run(struct shared *s, int q, int p, int (*edge)[2], size_t d, int rounds, int int8)
{
	size_t bytes = d * sizeof(float) + 64;
	int left = (q + p - 1) % p;
	struct side side[2] = {{.fd = edge[left][1], .in = pages(bytes, MAP_PRIVATE)},
			{.fd = edge[q][0], .in = pages(bytes, MAP_PRIVATE)}};
	float *x = pages(bytes, MAP_PRIVATE), *own = int8 ? pages(bytes, MAP_PRIVATE) : NULL;
	float *out = int8 ? pages(bytes, MAP_PRIVATE) : NULL;
	double begin, cpu;

	for (size_t i = 0; i < d; i++)
		x[i] = (float)q + (float)(i % 7);
	for (int k = 0; int8 && k < 2; k++)
		side[k].replica = pages(bytes, MAP_PRIVATE);
	barrier(s, p);
	begin = now();
	cpu = cpu_seconds();
	for (int r = 0; r < rounds; r++) {
		if (int8) {
			round_int8(side, x, own, out, d);
			continue;
		}
		exchange(side, x, d * sizeof(float));
		average(x, side[0].in, side[1].in, d);
	}
	s->cpu[q] = (cpu_seconds() - cpu) / rounds;
	barrier(s, p);
	s->wall[q] = (now() - begin) / rounds;
}

int main(int argc, char **argv)
{
	size_t d = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
	int rounds = argc > 2 ? atoi(argv[2]) : 10, p = argc > 3 ? atoi(argv[3]) : 4, bad = 0;
	const char *cc = argc > 4 ? argv[4] : "-";
	struct shared *s = pages(sizeof *s, MAP_SHARED);
	int edge[MAX_P][2];
	double wall = 0, cpu = 0;

	if (p < 3 || p > MAX_P)
		return 2;
	for (int i = 0; i < p; i++)
		make_edge(edge[i], cc);
	for (int q = 0; q < p; q++)
		if (fork() == 0) {
			run(s, q, p, edge, d, rounds, argc > 5 && strcmp(argv[5], "int8") == 0);
			_exit(0);
		}
	for (int i = 0; i < p; i++) {
		int status;

		wait(&status);
		bad |= status;
	}
	for (int i = 0; i < p; i++) {
		wall = s->wall[i] > wall ? s->wall[i] : wall;
		cpu += s->cpu[i] / p;
	}
	printf("%.9f %.9f\n", wall, cpu);
	return bad != 0;
}
