/* See mlp_net.h. */
#include "libcore/models/mlp_net.h"

#include <string.h>

#define MAX_PARAMS ((uint64_t)1 << 40)

enum status mlp_net_init(struct mlp_net *net, const uint64_t *widths, size_t n_widths, size_t extra, struct error *err)
{
	uint64_t at = 0;

	*net = (struct mlp_net){.n = (uint32_t)(n_widths - 1), .extra = extra};
	if (n_widths > MLP_MAX_LAYERS + 1)
		return error_set(err, ST_INVALID, "%zu layers found, allowed are %d", n_widths - 1, MLP_MAX_LAYERS);
	for (size_t l = 0; l < n_widths; l++)
		net->widest = widths[l] + extra > net->widest ? widths[l] + extra : net->widest;
	for (uint32_t l = 0; l < net->n; l++) {
		net->layers[l] = (struct affine){.n_in = widths[l], .n_out = widths[l + 1], .relu = l + 1 < net->n};
		net->offset[l] = at;
		if (widths[l] >= MAX_PARAMS / widths[l + 1])
			at = MAX_PARAMS;
		else
			at += (widths[l] + 1) * widths[l + 1];
		if (at >= MAX_PARAMS)
			return error_set(err, ST_INVALID, "%llu or more parameters, allowed are fewer", (unsigned long long)MAX_PARAMS);
	}
	net->offset[net->n] = at;
	return ST_OK;
}

void mlp_net_start(const struct mlp_net *net, real *x, uint64_t seed)
{
	for (uint32_t l = 0; l < net->n; l++)
		affine_start(&net->layers[l], x + net->offset[l], seed, l);
}

size_t mlp_net_width(const struct mlp_net *net, uint32_t l)
{
	return (l < net->n ? net->layers[l].n_in : net->layers[l - 1].n_out) + net->extra;
}

uint64_t mlp_net_kept(const struct mlp_net *net, uint32_t first, uint32_t end, size_t n)
{
	uint64_t kept = 0;

	for (uint32_t l = first; l < end; l++)
		kept += (uint64_t)n * mlp_net_width(net, l + 1);
	return kept;
}

/* The extra numbers of n rows, from behind `width_from` numbers to behind `width_to`. */
static void pass_extra(const struct mlp_net *net, real *to, size_t width_to, const real *from, size_t width_from, size_t n)
{
	for (size_t r = 0; net->extra > 0 && r < n; r++)
		memcpy(to + r * (width_to + net->extra) + width_to, from + r * (width_from + net->extra) + width_from,
				net->extra * sizeof *to);
}

real *mlp_net_forward(const struct mlp_net *net, uint32_t first, uint32_t end, const real *x, const real *in, size_t n,
		real *kept)
{
	real *out = kept;

	for (uint32_t l = first; l < end; l++) {
		const struct affine *a = &net->layers[l];
		size_t ld_out = a->n_out + net->extra;

		out = kept;
		affine_forward(a, x + (net->offset[l] - net->offset[first]), in, a->n_in + net->extra, out, ld_out, n);
		pass_extra(net, out, a->n_out, in, a->n_in, n);
		in = out;
		kept += n * ld_out;
	}
	return out;
}

void mlp_net_backward(const struct mlp_net *net, uint32_t first, uint32_t end, const real *x, const real *in, size_t n,
		const real *kept, const real *d_out, real *grad, real *d_in, real *scratch)
{
	real *turn[2] = {scratch, scratch + n * net->widest};
	const real *out = kept + mlp_net_kept(net, first, end, n);

	for (uint32_t l = end; l-- > first;) {
		const struct affine *a = &net->layers[l];
		size_t ld = a->n_out + net->extra, at = net->offset[l] - net->offset[first];
		real *below = l > first ? turn[1] : d_in;
		const real *d = d_out;

		out -= n * ld;
		if (a->relu) {
			affine_unrelu(a, turn[0], d_out, out, ld, n);
			d = turn[0];
		}
		affine_backward(a, x + at, l > first ? out - n * (a->n_in + net->extra) : in, a->n_in + net->extra, d, ld, n,
				grad != NULL ? grad + at : NULL, below);
		if (below != NULL)
			pass_extra(net, below, a->n_in, d_out, a->n_out, n);
		d_out = below;
		turn[1] = turn[0];
		turn[0] = below;
	}
}
