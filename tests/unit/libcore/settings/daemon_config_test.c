/* Daemon configs: defaults, each bad one with its message, and the sample file in deploy/. */
#include "libcore/base/buf.h"
#include "libcore/settings/daemon_config.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum status parse(struct daemon_config *cfg, const char *text, struct error *err)
{
	return daemon_config_parse(cfg, "d.yaml", text, strlen(text), err);
}

Test(daemon_config, an_empty_file_is_a_loopback_node)
{
	static const char *const texts[] = {"", "# nothing\n", "---\n", "cluster:\n  # open: on\n"};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct daemon_config c;
		struct error err = {0};

		cr_assert_eq(parse(&c, texts[i], &err), ST_OK, "%s", err.msg);
		cr_assert_str_eq(c.listen, "127.0.0.1:17326");
		cr_assert_str_eq(c.cluster_name, "default");
		cr_assert_str_eq(c.node_name, "");
		cr_assert_eq(c.cluster_open, 0);
		cr_assert_eq(c.n_seeds, 0);
		cr_assert_eq(c.log_level, CONFIG_LOG_INFO);
		cr_assert_eq(c.ping_ms, 1000);
		cr_assert_eq(c.silence_ms, 3000);
		cr_assert_eq(c.dead_ms, 5000);
		cr_assert_eq(c.state_dir[0], '/');
		cr_assert_eq(c.control_socket[0], '/');
	}
}

Test(daemon_config, every_key_reaches_its_field)
{
	static const char text[] = "cluster: {name: lab, open: on}\n"
		"node: {name: node-a}\n"
		"listen: 10.0.4.11:0\n"
		"advertise: 10.0.4.11:5\n"
		"discovery: {seeds: [node, 10.0.0.1:7, \"[fd00::1]:8\", \"fd00::2\"]}\n"
		"state: /s\n"
		"control: {socket: /s/c.sock}\n"
		"data: {roots: [/d, /e]}\n"
		"plugins: {dirs: [/p]}\n"
		"worker: {program: /w}\n"
		"log: {level: trace}\n"
		"timeouts: {ping: 200ms, silence: 600ms, dead: 1s}\n";
	struct daemon_config c;
	struct error err = {0};

	cr_assert_eq(parse(&c, text, &err), ST_OK, "%s", err.msg);
	cr_assert_str_eq(c.cluster_name, "lab");
	cr_assert_eq(c.cluster_open, 1);
	cr_assert_str_eq(c.node_name, "node-a");
	cr_assert_str_eq(c.listen, "10.0.4.11:0");
	cr_assert_str_eq(c.advertise, "10.0.4.11:5");
	cr_assert_eq(c.n_seeds, 4);
	cr_assert_str_eq(c.seeds[2], "[fd00::1]:8");
	cr_assert_str_eq(c.seeds[3], "fd00::2");
	cr_assert_str_eq(c.state_dir, "/s");
	cr_assert_str_eq(c.control_socket, "/s/c.sock");
	cr_assert_eq(c.n_data_roots, 2);
	cr_assert_str_eq(c.data_roots[1], "/e");
	cr_assert_eq(c.n_plugin_dirs, 1);
	cr_assert_str_eq(c.worker, "/w");
	cr_assert_eq(c.log_level, CONFIG_LOG_TRACE);
	cr_assert_eq(c.ping_ms, 200);
	cr_assert_eq(c.dead_ms, 1000);
}

Test(daemon_config, an_open_cluster_may_listen_on_every_address_of_the_host)
{
	static const char *const rows[] = {"0.0.0.0:17326", "\"[::]:17326\"", "10.0.0.1:0", "\"[fe80::1%eth0]:5\""};
	char text[128];
	struct daemon_config c;
	struct error err = {0};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		(void)snprintf(text, sizeof text, "listen: %s\ncluster: {open: on}\n", rows[i]);
		cr_assert_eq(parse(&c, text, &err), ST_OK, "%s: %s", text, err.msg);
	}
}

#define LONG "/0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345.sock"

static const struct {
	const char *text, *msg;
} bad[] = {
	{"listn: 127.0.0.1:1\n", "d.yaml:1:1: unknown key 'listn'"},
	{"listen: localhost:17326\n",
		"d.yaml:1:9: listen: found 'localhost:17326', allowed: ADDRESS:PORT, as 10.0.0.5:17326 or [fd00::5]:17326"},
	{"listen: 127.0.0.1\n",
		"d.yaml:1:9: listen: found '127.0.0.1', allowed: ADDRESS:PORT, as 10.0.0.5:17326 or [fd00::5]:17326"},
	{"listen: 10.0.0.5:17326\n", "d.yaml:1:9: listen: 10.0.0.5 can be reached from other hosts, and there are no keys yet; "
		"allowed: loopback, or cluster.open: on"},
	{"listen: 0.0.0.0:17326\n", "d.yaml:1:9: listen: 0.0.0.0 can be reached from other hosts, and there are no keys yet; "
		"allowed: loopback, or cluster.open: on"},
	{"listen: \"[::]:17326\"\ncluster: {open: off}\n", "d.yaml:1:10: listen: :: can be reached from other hosts, and there are "
		"no keys yet; allowed: loopback, or cluster.open: on"},
	{"listen: 0.1.2.3:17326\ncluster: {open: on}\n",
		"d.yaml:1:9: listen: 0.1.2.3 is a public address; whoever reaches the port can join and run jobs. "
		"Without keys (a later version) allowed: loopback, or a private address or 0.0.0.0 with cluster.open: on"},
	{"listen: 8.8.8.8:17326\ncluster: {open: on}\n",
		"d.yaml:1:9: listen: 8.8.8.8 is a public address; whoever reaches the port can join and run jobs. "
		"Without keys (a later version) allowed: loopback, or a private address or 0.0.0.0 with cluster.open: on"},
	{"listen: \"[2001:db8::1]:17326\"\ncluster: {open: on}\n",
		"d.yaml:1:10: listen: 2001:db8::1 is a public address; whoever reaches the port can join and run jobs. "
		"Without keys (a later version) allowed: loopback, or a private address or 0.0.0.0 with cluster.open: on"},
	{"cluster: {open: maybe}\n", "d.yaml:1:17: cluster.open: found 'maybe', allowed: on or off"},
	{"cluster: {key: a.key}\n",
		"d.yaml:1:11: cluster.key: keys come with a later version; on a trusted private network write `open: on`"},
	{"advertise: 0.0.0.0:17326\n",
		"d.yaml:1:12: advertise: found '0.0.0.0:17326', allowed: ADDRESS:PORT that others can dial, as 10.0.0.5:17326"},
	{"discovery: {seeds: node}\n",
		"d.yaml:1:20: discovery.seeds: found one value, allowed: a list of at most 64 texts, as [a, b]"},
	{"discovery: {seeds: [\"a:b\"]}\n",
		"d.yaml:1:13: discovery.seeds: found 'a:b', allowed: HOST, HOST:PORT or [ADDRESS]:PORT"},
	{"discovery: {seeds: [a, 10.0.0.999]}\n",
		"d.yaml:1:13: discovery.seeds: found '10.0.0.999', allowed: HOST, HOST:PORT or [ADDRESS]:PORT"},
	{"discovery: {multicast: on}\n",
		"d.yaml:1:13: discovery.multicast: multicast comes with a later version; list some nodes as seeds"},
	{"state: relative\n", "d.yaml:1:8: state: found 'relative', allowed: a path that begins with '/'"},
	{"control: {socket: \"" LONG "\"}\n",
		"d.yaml:1:20: control.socket: found '/0123456789012345678901234567890123456789012...', "
		"allowed: a text of at most 107 bytes"},
	{"data: {roots: [d]}\n", "d.yaml:1:8: data.roots: found 'd', allowed: a path that begins with '/'"},
	{"data: {roots: [/1, /2, /3, /4, /5, /6, /7, /8, /9]}\n",
		"d.yaml:1:8: data.roots: more than 8 entries, allowed: at most 8"},
	{"log: {level: verbose}\n", "d.yaml:1:14: log.level: found 'verbose', allowed: warn, info, debug, trace"},
	{"timeouts: {ping: 3s}\n",
		"d.yaml:1:18: timeouts.ping: silence is 3000 ms and ping 3000 ms, allowed: silence longer than ping"},
	{"timeouts: {silence: 1}\n",
		"d.yaml:1:21: timeouts.silence: found '1', allowed: a time from 100ms to 10m, as 5s or 500ms"},
	{"node: {name: Node A}\n", "d.yaml:1:14: node.name: found 'Node A', allowed: at most 63 of a-z 0-9 . _ -"},
	{"node: node-a\n", "d.yaml:1:7: node: found one value, allowed: a group of keys"},
	{"state: /a\nstate: /b\n", "d.yaml:2:1: 'state' is given twice, first in line 1"},
};

Test(daemon_config, each_bad_config_is_refused_with_place_finding_and_what_is_allowed)
{
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct daemon_config c;
		struct error err = {0};

		cr_expect_eq(parse(&c, bad[i].text, &err), ST_INVALID, "%s", bad[i].text);
		cr_expect_str_eq(err.msg, bad[i].msg, "row %zu\n  got    %s\n  wanted %s", i, err.msg, bad[i].msg);
	}
}

Test(daemon_config, the_file_in_deploy_examples_is_what_the_program_writes_and_gives_the_defaults)
{
	char path[4096], *text;
	struct buf want = {0};
	struct daemon_config a, b;
	struct error err = {0};
	size_t len;
	FILE *f;

	cr_assert_not_null(getenv("DADAM_SOURCE"));
	(void)snprintf(path, sizeof path, "%s/deploy/dadamd.yaml", getenv("DADAM_SOURCE"));
	cr_assert_eq(daemon_config_sample(&want), ST_OK);
	f = fopen(path, "r");
	cr_assert_not_null(f, "%s", path);
	text = calloc(1, want.len + 2);
	len = fread(text, 1, want.len + 1, f);
	(void)fclose(f);
	cr_expect_eq(len, want.len);
	cr_assert_str_eq(text, (char *)want.data, "the file should be:\n%s", (char *)want.data);
	cr_assert_eq(parse(&a, text, &err), ST_OK, "%s", err.msg);
	daemon_config_default(&b);
	cr_assert_eq(memcmp(&a, &b, sizeof a), 0);
	free(text);
	buf_fini(&want);
}

Test(daemon_config, the_socket_is_looked_for_where_the_variable_says_or_in_the_usual_places)
{
	char paths[CONFIG_MAX_SOCKETS][108];
	size_t n;

	cr_assert_eq(setenv("DADAM_SOCKET", "/x/y.sock", 1), 0);
	cr_assert_eq(daemon_config_sockets(paths), 1);
	cr_assert_str_eq(paths[0], "/x/y.sock");
	cr_assert_eq(unsetenv("DADAM_SOCKET"), 0);
	cr_assert_eq(setenv("XDG_RUNTIME_DIR", "/run/user/7", 1), 0);
	n = daemon_config_sockets(paths);
	cr_assert_geq(n, 2);
	cr_assert_str_eq(paths[0], "/run/user/7/dadamd/ctl.sock");
	cr_assert_str_eq(paths[n - 1], "/run/dadamd/ctl.sock");
}

Test(daemon_config, the_folders_that_a_supervisor_made_come_before_all_others)
{
	struct daemon_config c;

	cr_assert_eq(setenv("XDG_RUNTIME_DIR", "/run/user/7", 1), 0);
	cr_assert_eq(setenv("STATE_DIRECTORY", "/var/lib/dadamd", 1), 0);
	cr_assert_eq(setenv("RUNTIME_DIRECTORY", "/run/dadamd", 1), 0);
	daemon_config_default(&c);
	cr_assert_str_eq(c.state_dir, "/var/lib/dadamd");
	cr_assert_str_eq(c.control_socket, "/run/dadamd/ctl.sock");
	cr_assert_eq(setenv("STATE_DIRECTORY", "/a:/b", 1), 0); /* two of them: which one? */
	cr_assert_eq(setenv("RUNTIME_DIRECTORY", "relative", 1), 0);
	daemon_config_default(&c);
	cr_assert(strchr(c.state_dir, ':') == NULL && c.state_dir[0] == '/', "%s", c.state_dir);
	cr_assert_neq(strcmp(c.control_socket, "relative/ctl.sock"), 0);
}
