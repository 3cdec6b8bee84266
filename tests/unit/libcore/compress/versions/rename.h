/* Put before every file of libcore/compress when it is compiled for one machine (-include): every
 * name that the linker sees gets the machine's name behind it, so that all versions fit into one
 * program. A function that is missing here shows as a symbol defined twice, or as the product's. */
#ifndef TESTS_UNIT_LIBCORE_COMPRESS_VERSIONS_RENAME_H
#define TESTS_UNIT_LIBCORE_COMPRESS_VERSIONS_RENAME_H

#define RENAME_PASTE(name, version) name##_##version
#define RENAME_EXPAND(name, version) RENAME_PASTE(name, version)
#define RENAME(name) RENAME_EXPAND(name, COMPRESS_VERSION)

#define compress_create RENAME(compress_create)
#define compress_destroy RENAME(compress_destroy)
#define compress_encode RENAME(compress_encode)
#define compress_decode RENAME(compress_decode)
#define wrong_length RENAME(wrong_length)
#define wrong_scale RENAME(wrong_scale)
#define reals_store RENAME(reals_store)
#define reals_load RENAME(reals_load)
#define identity_encode RENAME(identity_encode)
#define identity_decode RENAME(identity_decode)
#define sign_encode RENAME(sign_encode)
#define sign_decode RENAME(sign_decode)
#define sign_zeros_encode RENAME(sign_zeros_encode)
#define sign_zeros_decode RENAME(sign_zeros_decode)
#define sign_bits_and_sum RENAME(sign_bits_and_sum)
#define sign_nonzero_bits RENAME(sign_nonzero_bits)
#define topk_encode RENAME(topk_encode)
#define topk_decode RENAME(topk_decode)
#define topk_room RENAME(topk_room)
#define topk_select RENAME(topk_select)
#define indices_bound RENAME(indices_bound)
#define indices_encode RENAME(indices_encode)
#define indices_scatter RENAME(indices_scatter)
#define randk_encode RENAME(randk_encode)
#define randk_decode RENAME(randk_decode)
#define norm_squares RENAME(norm_squares)
#define qsgd_bits RENAME(qsgd_bits)
#define qsgd_omega RENAME(qsgd_omega)
#define qsgd_encode RENAME(qsgd_encode)
#define qsgd_decode RENAME(qsgd_decode)
#define int8_encode RENAME(int8_encode)
#define int8_decode RENAME(int8_decode)
#define int8_encode_difference RENAME(int8_encode_difference)
#define int8_add RENAME(int8_add)
#define int4_encode RENAME(int4_encode)
#define int4_decode RENAME(int4_decode)
#define bf16_encode RENAME(bf16_encode)
#define bf16_decode RENAME(bf16_decode)

#endif
