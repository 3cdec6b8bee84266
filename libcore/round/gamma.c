/* gamma by default. See gamma.h.
 *
 * The figures are of tests/bench/experiments (`gamma`: the largest that pure gossip bears; `tuned`: eight workers in
 * training, where the cliff is nearer): good for the worst worker, and at most two thirds of the first that lost
 * one. On a complete or exponential graph a rank answers to many at once; in a star all that a rank learns goes through the
 * hub, which hears everybody: there top-k loses workers at steps that other graphs bear. */
#include "libcore/round/gamma.h"

#include <math.h>

struct tuned {
	double sparse, dense, star;
};

static double tuned_for(const struct tuned *t, enum topology_kind topology)
{
	if (topology == TOPOLOGY_COMPLETE || topology == TOPOLOGY_EXPONENTIAL)
		return t->dense;
	return topology == TOPOLOGY_STAR ? t->star : t->sparse;
}

/* Measured where 1 % and 10 % are kept: a power of the part between and beyond. */
static double topk_gamma(double part, enum topology_kind topology)
{
	static const struct tuned percent = {0.05, 0.04, 0.025}, tenth = {0.2, 0.2, 0.2};
	double low = tuned_for(&percent, topology), power = log10(tuned_for(&tenth, topology) / low);

	return low * pow(part / 0.01, power);
}

static double by_kind(const struct compress_config *compress, size_t n, enum topology_kind topology)
{
	static const struct tuned randk = {0.8, 0.5, 0.8};   /* times delta, the part that is kept */
	static const struct tuned qsgd = {1.25, 0.9, 1.25}; /* times 1/omega */
	double part = (double)compress_kept(compress, n) / (double)n;

	switch (compress->kind) {
	case COMPRESS_IDENTITY:
	case COMPRESS_INT8:
	case COMPRESS_BF16:
		return 1;
	case COMPRESS_INT4:
	case COMPRESS_SIGN:
		return 0.8;
	case COMPRESS_TOPK:
		return topk_gamma(part, topology);
	case COMPRESS_RANDK:
		return tuned_for(&randk, topology) * part;
	case COMPRESS_QSGD:
		return tuned_for(&qsgd, topology) / (1 / compress_contraction(compress, n) - 1);
	}
	return 1;
}

double gamma_by_default(const struct compress_config *compress, size_t n, enum topology_kind topology, enum gossip_order order,
		uint32_t period)
{
	bool nearly_all = compress->kind == COMPRESS_IDENTITY || compress->kind == COMPRESS_INT8 || compress->kind == COMPRESS_BF16 ||
			  compress->kind == COMPRESS_INT4;
	double most = nearly_all && order == GOSSIP_LAGGED && period > 4 ? 0.5 : 1;

	return fmin(by_kind(compress, n, topology), most);
}
