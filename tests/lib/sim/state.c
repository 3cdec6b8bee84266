/* Vectors of a rank and their cut into segments. See state.h. */
#include "tests/lib/sim/state.h"

#include "libcore/base/mem.h"

enum status state_init(struct state *s, size_t n, unsigned n_moments, struct error *err)
{
	*s = (struct state){.n = n};
	if (n == 0 || n_moments > 2)
		return error_set(err, ST_INVALID, "%zu parameters with %u moments, allowed at least 1 and at most 2", n,
				n_moments);
	s->x = mem_alloc_big(n, sizeof(real));
	s->grad = mem_alloc_big(n, sizeof(real));
	s->m = n_moments > 0 ? mem_alloc_big(n, sizeof(real)) : NULL;
	s->v = n_moments > 1 ? mem_alloc_big(n, sizeof(real)) : NULL;
	if (s->x == NULL || s->grad == NULL || (n_moments > 0 && s->m == NULL) || (n_moments > 1 && s->v == NULL)) {
		state_fini(s);
		return error_set(err, ST_NOMEM, "no memory for %u vectors of %zu parameters of %zu bytes", 2 + n_moments, n,
				sizeof(real));
	}
	return ST_OK;
}

void state_fini(struct state *s)
{
	mem_free_big(s->x, s->n, sizeof(real));
	mem_free_big(s->grad, s->n, sizeof(real));
	mem_free_big(s->m, s->n, sizeof(real));
	mem_free_big(s->v, s->n, sizeof(real));
	*s = (struct state){.n = 0};
}

uint32_t state_n_segments(size_t n, uint32_t segment)
{
	return (uint32_t)((n + segment - 1) / segment);
}

size_t state_segment_begin(uint32_t segment, uint32_t i)
{
	return (size_t)i * segment;
}

uint32_t state_segment_length(size_t n, uint32_t segment, uint32_t i)
{
	size_t left = n - state_segment_begin(segment, i);

	return left < segment ? (uint32_t)left : segment;
}
