/* Trials of exact differences. See probe.h. */
#include "daemon/worker/probe.h"

#include "libcore/base/mem.h"
#include "libcore/compress/delta.h"

#include <string.h>
#include <uv.h>

struct probe {
	struct delta *delta;
	size_t max_n;
	real *last; /* the segment, as it was in `round` */
	uint8_t *bytes;
	int is_kept;
	uint64_t round;
	uint32_t segment, tries;
};

enum status probe_create(struct probe **out, size_t max_n, struct error *err)
{
	struct probe *p = mem_alloc(1, sizeof *p);
	enum status st = ST_NOMEM;

	if (p == NULL)
		return error_set(err, ST_NOMEM, "wire.delta: out of memory");
	p->max_n = max_n;
	p->last = mem_alloc(max_n, sizeof *p->last);
	p->bytes = mem_alloc(delta_bound(max_n), 1);
	if (p->last != NULL && p->bytes != NULL)
		st = delta_create(&p->delta, max_n, err);
	else
		(void)error_set(err, ST_NOMEM, "wire.delta: out of memory");
	if (st != ST_OK) {
		probe_destroy(p);
		return st;
	}
	*out = p;
	return ST_OK;
}

void probe_destroy(struct probe *p)
{
	if (p == NULL)
		return;
	delta_destroy(p->delta);
	mem_free(p->last);
	mem_free(p->bytes);
	mem_free(p);
}

/* 1/8, 3/8, 5/8, 7/8 of the vector. */
static uint32_t place(const struct probe *p, uint32_t n_segments)
{
	return (uint32_t)((uint64_t)n_segments * (2 * (p->tries % 4) + 1) / 8);
}

int probe_try(struct probe *p, uint64_t round, uint32_t segment, uint32_t n_segments, const real *x, size_t n, double *seconds, size_t *len)
{
	int follows = p->is_kept && segment == p->segment && round == p->round + 1;
	uint64_t begin;

	if (n > p->max_n || (!follows && segment != place(p, n_segments)))
		return 0;
	if (!follows) {
		memcpy(p->last, x, n * sizeof *x);
		p->is_kept = 1;
		p->round = round;
		p->segment = segment;
		return 0;
	}
	begin = uv_hrtime();
	*len = delta_encode(p->delta, p->bytes, delta_bound(p->max_n), p->last, x, n);
	*seconds = (double)(uv_hrtime() - begin) * 1e-9;
	*len = *len > 0 ? *len : n * sizeof *x;
	p->is_kept = 0;
	p->tries++;
	return 1;
}
