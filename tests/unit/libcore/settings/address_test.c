/* Addresses as text: splitting, classes at their borders, host names. */
#include "libcore/settings/address.h"

#include <criterion/criterion.h>

Test(address, hosts_and_ports_are_split)
{
	static const struct {
		const char *text;
		bool ok;
		const char *host;
		uint32_t port;
	} rows[] = {
		{"a", true, "a", ADDRESS_NO_PORT}, {"a:1", true, "a", 1}, {"10.0.0.1:65535", true, "10.0.0.1", 65535},
		{"[::1]:5", true, "::1", 5}, {"[fd00::1]", true, "fd00::1", ADDRESS_NO_PORT},
		{"fd00::1", true, "fd00::1", ADDRESS_NO_PORT}, {"", false, "", 0}, {":5", false, "", 0},
		{"a:", false, "", 0}, {"a:65536", false, "", 0}, {"a:-1", false, "", 0}, {"[::1", false, "", 0},
		{"[]:5", false, "", 0}, {"[::1]5", false, "", 0}, {"a: 5", false, "", 0},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct address a = {"", 0};

		cr_assert_eq(address_split(&a, rows[i].text), rows[i].ok, "'%s'", rows[i].text);
		if (!rows[i].ok)
			continue;
		cr_assert_str_eq(a.host, rows[i].host);
		cr_assert_eq(a.port, rows[i].port);
	}
}

Test(address, each_kind_of_address_is_told_apart_at_its_borders)
{
	static const struct {
		const char *host;
		enum address_class class;
	} rows[] = {
		{"127.0.0.1", ADDRESS_LOOPBACK}, {"127.255.255.255", ADDRESS_LOOPBACK}, {"::1", ADDRESS_LOOPBACK},
		{"10.0.0.0", ADDRESS_PRIVATE}, {"9.255.255.255", ADDRESS_PUBLIC}, {"11.0.0.0", ADDRESS_PUBLIC},
		{"172.16.0.0", ADDRESS_PRIVATE}, {"172.31.255.255", ADDRESS_PRIVATE}, {"172.32.0.0", ADDRESS_PUBLIC},
		{"192.168.1.1", ADDRESS_PRIVATE}, {"192.169.0.0", ADDRESS_PUBLIC}, {"169.254.1.1", ADDRESS_PRIVATE},
		{"100.64.0.0", ADDRESS_PRIVATE}, {"100.127.255.255", ADDRESS_PRIVATE}, {"100.128.0.0", ADDRESS_PUBLIC},
		{"100.63.0.0", ADDRESS_PUBLIC}, {"fc00::1", ADDRESS_PRIVATE}, {"fdff::1", ADDRESS_PRIVATE},
		{"fe80::1", ADDRESS_PRIVATE}, {"fe80::1%eth0", ADDRESS_PRIVATE}, {"fec0::1", ADDRESS_PUBLIC},
		{"2001:db8::1", ADDRESS_PUBLIC}, {"::", ADDRESS_ANY}, {"0.0.0.0", ADDRESS_ANY},
		{"::ffff:8.8.8.8", ADDRESS_PUBLIC}, {"::ffff:10.0.0.1", ADDRESS_PRIVATE},
		{"::ffff:0.0.0.0", ADDRESS_ANY}, {"0.0.0.1", ADDRESS_PUBLIC}, {"localhost", ADDRESS_NAME}, {"10.0.0.999", ADDRESS_NAME},
		{"", ADDRESS_NAME},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_assert_eq(address_class(rows[i].host), rows[i].class, "%s", rows[i].host);
}

Test(address, host_names_are_letters_digits_dots_and_dashes)
{
	cr_assert(address_host_ok("node-1.example.org"));
	cr_assert(address_host_ok("my_node"));
	cr_assert(address_host_ok("::1"));
	cr_assert_not(address_host_ok("10.0.0.999"));
	cr_assert_not(address_host_ok("a..b"));
	cr_assert_not(address_host_ok("-a"));
	cr_assert_not(address_host_ok("a b"));
	cr_assert_not(address_host_ok("caf\xc3\xa9"));
}
