/* Planes against their naive twin, at every small length. */
#include "libcore/compress/planes_kernel.h"

#include <criterion/criterion.h>
#include <string.h>

Test(planes_kernel, byte_b_of_word_i_lies_at_place_i_of_plane_b)
{
	uint8_t in[4 * 300], out[4 * 300 + 1], back[4 * 300 + 1];

	for (size_t i = 0; i < sizeof in; i++)
		in[i] = (uint8_t)(i * 41 + i / 7);
	for (size_t n = 0; n <= 300; n++) {
		out[4 * n] = back[4 * n] = 0xee;
		planes_split(out, in, n);
		for (size_t i = 0; i < n; i++)
			for (size_t b = 0; b < 4; b++)
				cr_assert_eq(out[b * n + i], in[4 * i + b]);
		planes_join(back, out, n);
		cr_assert_eq(memcmp(in, back, 4 * n), 0);
		cr_assert(out[4 * n] == 0xee && back[4 * n] == 0xee);
	}
}
