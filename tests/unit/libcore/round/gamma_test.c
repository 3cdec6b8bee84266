/* gamma by default: what was measured, per compressor and topology. */
#include "libcore/round/gamma.h"

#include <criterion/criterion.h>
#include <stdio.h>

static double gamma_of(const char *compressor, size_t n, enum topology_kind topology, enum gossip_order order, uint32_t period)
{
	struct compress_config c;

	cr_assert_eq(compress_parse(&c, compressor, NULL), ST_OK, "%s", compressor);
	return gamma_by_default(&c, n, topology, order, period);
}

Test(gamma, is_what_was_measured_per_compressor_and_topology)
{
	static const struct {
		const char *compressor;
		double ring, dense, star;
	} rows[] = {{"identity", 1, 1, 1}, {"bf16", 1, 1, 1}, {"int8", 1, 1, 1}, {"int4", .8, .8, .8}, {"sign", .8, .8, .8},
			{"sign(keep-zeros)", .8, .8, .8}, {"top-k(10%)", .2, .2, .2}, {"top-k(1%)", .05, .04, .025},
			{"random-k(10%)", .08, .05, .08}, {"random-k(1%)", .008, .005, .008}, {"qsgd(15)", .1875, .135, .1875},
			{"qsgd(1000)", 1, 1, 1}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *c = rows[i].compressor;

		cr_assert_float_eq(gamma_of(c, 10000, TOPOLOGY_RING, GOSSIP_LAGGED, 4), rows[i].ring, 1e-3, "%s", c);
		cr_assert_float_eq(gamma_of(c, 10000, TOPOLOGY_STAR, GOSSIP_LAGGED, 1), rows[i].star, 1e-3, "%s", c);
		cr_assert_float_eq(gamma_of(c, 10000, TOPOLOGY_COMPLETE, GOSSIP_LAGGED, 4), rows[i].dense, 1e-3, "%s", c);
		cr_assert_float_eq(gamma_of(c, 10000, TOPOLOGY_EXPONENTIAL, GOSSIP_LAGGED, 4), rows[i].dense, 1e-3, "%s", c);
		cr_assert_float_eq(gamma_of(c, 10000, TOPOLOGY_RING, GOSSIP_FRESH, 16), rows[i].ring, 1e-3, "%s", c);
	}
}

Test(gamma, is_at_most_a_half_where_nearly_everything_is_sent_and_answers_are_a_long_period_old)
{
	static const struct {
		const char *compressor;
		double gamma;
	} rows[] = {{"identity", .5}, {"bf16", .5}, {"int8", .5}, {"int4", .5}, {"sign", .8}, {"top-k(1%)", .05}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_assert_float_eq(gamma_of(rows[i].compressor, 10000, TOPOLOGY_RING, GOSSIP_LAGGED, 16), rows[i].gamma, 1e-3, "%s",
				rows[i].compressor);
}

/* omega = min(n/s^2, sqrt(n)/s) grows with the segment, and so does what a step of qsgd disturbs. */
Test(gamma, of_qsgd_falls_with_the_length_of_a_segment_and_rises_with_levels)
{
	static const uint32_t levels[] = {1, 4, 15, 64, 255};
	char text[16];
	double last = 0;

	for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
		double shorter, longer;

		(void)snprintf(text, sizeof text, "qsgd(%u)", levels[i]);
		shorter = gamma_of(text, 2000, TOPOLOGY_RING, GOSSIP_FRESH, 1);
		longer = gamma_of(text, 65536, TOPOLOGY_RING, GOSSIP_FRESH, 1);
		cr_assert(longer > last && longer <= shorter && shorter <= 1, "%s: %g, %g", text, shorter, longer);
		last = longer;
	}
}

Test(gamma, is_never_above_one_nor_zero)
{
	static const char *const kinds[] = {"top-k(100%)", "random-k(100%)", "random-k(1)", "top-k(1)", "qsgd(1)", "qsgd(32767)"};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		for (size_t n = 1; n < 1u << 20; n *= 7) {
			double gamma = gamma_of(kinds[i], n, TOPOLOGY_COMPLETE, GOSSIP_LAGGED, 1);

			cr_assert(gamma > 0 && gamma <= 1, "%s of %zu: %g", kinds[i], n, gamma);
		}
}
