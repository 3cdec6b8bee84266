/* The borders of each network, one bit inside and one outside. */
#include "libcore/base/ipclass.h"

#include <criterion/criterion.h>
#include <string.h>

Test(ipclass, each_v4_network_begins_and_ends_where_its_rfc_says)
{
	static const struct {
		uint8_t b[4];
		enum ip_class class;
	} rows[] = {
		{{0, 0, 0, 0}, IP_ANY}, {{0, 0, 0, 1}, IP_PUBLIC}, {{9, 255, 255, 255}, IP_PUBLIC}, {{10, 0, 0, 0}, IP_PRIVATE},
		{{10, 255, 255, 255}, IP_PRIVATE}, {{11, 0, 0, 0}, IP_PUBLIC}, {{100, 63, 255, 255}, IP_PUBLIC},
		{{100, 64, 0, 0}, IP_PRIVATE}, {{100, 127, 255, 255}, IP_PRIVATE}, {{100, 128, 0, 0}, IP_PUBLIC},
		{{126, 255, 255, 255}, IP_PUBLIC}, {{127, 0, 0, 0}, IP_LOOPBACK}, {{127, 255, 255, 255}, IP_LOOPBACK},
		{{128, 0, 0, 0}, IP_PUBLIC}, {{169, 253, 255, 255}, IP_PUBLIC}, {{169, 254, 0, 0}, IP_LINK_LOCAL},
		{{169, 255, 0, 0}, IP_PUBLIC}, {{172, 15, 255, 255}, IP_PUBLIC}, {{172, 16, 0, 0}, IP_PRIVATE},
		{{172, 31, 255, 255}, IP_PRIVATE}, {{172, 32, 0, 0}, IP_PUBLIC}, {{192, 167, 255, 255}, IP_PUBLIC},
		{{192, 168, 0, 0}, IP_PRIVATE}, {{192, 169, 0, 0}, IP_PUBLIC}, {{224, 0, 0, 1}, IP_PUBLIC},
		{{255, 255, 255, 255}, IP_PUBLIC},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		uint8_t mapped[16] = {[10] = 0xff, [11] = 0xff};

		memcpy(mapped + 12, rows[i].b, 4);
		cr_assert_eq(ip_class_v4(rows[i].b), rows[i].class, "row %zu", i);
		cr_assert_eq(ip_class_v6(mapped), rows[i].class, "row %zu, mapped", i);
	}
}

Test(ipclass, each_v6_network_begins_and_ends_where_its_rfc_says)
{
	static const struct {
		uint8_t b[16];
		enum ip_class class;
	} rows[] = {
		{{0}, IP_ANY}, {{[15] = 1}, IP_LOOPBACK}, {{[15] = 2}, IP_PUBLIC}, {{[0] = 1, [15] = 1}, IP_PUBLIC},
		{{0xfb, 0xff}, IP_PUBLIC}, {{0xfc}, IP_PRIVATE}, {{0xfd, 0xff}, IP_PRIVATE}, {{0xfe}, IP_PUBLIC},
		{{0xfe, 0x7f}, IP_PUBLIC}, {{0xfe, 0x80}, IP_LINK_LOCAL}, {{0xfe, 0xbf}, IP_LINK_LOCAL}, {{0xfe, 0xc0}, IP_PUBLIC},
		{{0x20, 0x01}, IP_PUBLIC}, {{0xff, 0x02}, IP_PUBLIC},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		cr_assert_eq(ip_class_v6(rows[i].b), rows[i].class, "row %zu", i);
}
