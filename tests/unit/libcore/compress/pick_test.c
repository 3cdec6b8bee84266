/* Bits picked out of a word and put back are those of a loop over its bits. */
#include "libcore/compress/pick.h"
#include "tests/unit/libcore/compress/samples.h"

#include <criterion/criterion.h>

static uint64_t next_word(uint32_t *s)
{
	uint64_t word = sample_next(s);

	word = word << 24 ^ sample_next(s);
	return word << 24 ^ sample_next(s);
}

/* Few ones, many, about half, none, all. */
static uint64_t next_mask(uint32_t *s)
{
	uint64_t a = next_word(s), b = next_word(s);

	switch (sample_next(s) % 6) {
	case 0:
		return a & b & next_word(s);
	case 1:
		return a | b | next_word(s);
	case 2:
		return a << (sample_next(s) % 64);
	case 3:
		return UINT64_MAX >> (sample_next(s) % 64);
	case 4:
		return sample_next(s) % 2 != 0 ? UINT64_MAX : 0;
	default:
		return a;
	}
}

Test(pick, bits_are_those_of_a_loop_and_return_to_their_places)
{
	uint32_t s = 1;

	for (int turn = 0; turn < 100000; turn++) {
		uint64_t from = next_word(&s), where = next_mask(&s), want = 0, beyond;
		unsigned n = 0;

		for (unsigned i = 0; i < 64; i++)
			if ((where >> i & 1) != 0)
				want |= (from >> i & 1) << n++;
		beyond = n < 64 ? next_word(&s) << n : 0;
		cr_assert_eq(pick_bits(from, where), want);
		cr_assert_eq(pick_spread(want | beyond, where), from & where);
	}
}
