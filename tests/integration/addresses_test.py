"""Nodes on several networks, in network namespaces of our own: which address each peer sees, a dead interface, public
addresses. Skipped with a message where the kernel or the rights do not allow namespaces.

    x ── br1 ── a        10.71.1.0/24 (x .1, a .2), 203.0.113.0/24 (public by its numbers), fd71:1::/64
    x ── br2 ── b        10.71.2.0/24 (x .1, b .2); a has .3 there in some tests
    x has a bridge "docker0" of its own too: 172.17.0.1
"""
import json
import os
import re
import shutil
import subprocess

from harness import BUILD, DADAMCTL, check, main, skip, test

PLUGINS = os.path.join(BUILD, "tests", "plugins")
PORT = 17326
OPEN = "cluster: {open: on}\n"


class Net:
    """Namespaces x, a, b and one with the two bridges; gone with remove()."""

    def __init__(self):
        self.prefix = f"dadam{os.getpid()}"
        self.made = []
        try:
            for name in ("sw", "x", "a", "b"):
                self.add(name)
            for bridge in ("br1", "br2"):
                self.ip("sw", f"link add {bridge} type bridge")
                self.ip("sw", f"link set {bridge} up")
            self.ip("x", "link add docker0 type bridge")
            self.address("x", "docker0", "172.17.0.1/16")
            for name, bridge, addresses in (("x", "br1", ["10.71.1.1/24", "203.0.113.1/24", "fd71:1::1/64"]),
                                            ("x", "br2", ["10.71.2.1/24"]),
                                            ("a", "br1", ["10.71.1.2/24", "203.0.113.2/24", "fd71:1::2/64"]),
                                            ("a", "br2", []), ("b", "br2", ["10.71.2.2/24"])):
                self.join(name, bridge, addresses)
        except Exception:
            self.remove()
            raise

    def add(self, name):
        run("ip", "netns", "add", f"{self.prefix}{name}")
        self.made.append(name)
        self.ip(name, "link set lo up")

    def ip(self, name, words):
        run("ip", "-n", f"{self.prefix}{name}", *words.split())

    def address(self, name, device, address):
        self.ip(name, f"addr add {address} dev {device}" + (" nodad" if ":" in address else ""))
        self.ip(name, f"link set {device} up")

    def join(self, name, bridge, addresses):
        self.ip("sw", f"link add {name}-{bridge} type veth peer name {bridge} netns {self.prefix}{name}")
        self.ip("sw", f"link set {name}-{bridge} master {bridge} up")
        self.ip(name, f"link set {bridge} up")
        for a in addresses:
            self.address(name, bridge, a)

    def within(self, name):
        return ["ip", "netns", "exec", f"{self.prefix}{name}"]

    def remove(self):
        for name in self.made:
            subprocess.run(["ip", "netns", "del", f"{self.prefix}{name}"], capture_output=True, check=False)


def run(*words):
    r = subprocess.run(words, capture_output=True, text=True, check=False)
    if r.returncode != 0:
        raise OSError(f"{' '.join(words)}: {r.stderr.strip()}")
    return r.stdout


def with_net(function):
    def inner(c):
        if shutil.which("ip") is None:
            skip("no `ip` program (iproute2)")
        try:
            net = Net()
        except OSError as why:
            skip(f"no network namespaces here: {why}")
        try:
            function(c, net)
        finally:
            for d in c.daemons:
                if d.process is not None and d.running():
                    d.kill()
            net.remove()
    inner.__name__ = function.__name__
    return test(inner)


def node(c, net, name, seeds=(), listen=f"0.0.0.0:{PORT}", extra=OPEN):
    return c.daemon(name, seeds=seeds, listen=listen, extra=extra, within=net.within(name))


def address_of(d, name):
    return d.peers().get(name, {}).get("address", "")


def never_told(d, *wrong):
    seen = [p["address"] for p in d.json("peers")["peers"] if not p.get("self")] + re.findall(r"address=(\S+)", d.log())
    bad = [s for s in seen for w in wrong if s.startswith(w)]
    check(not bad, f"{d.name} heard of {bad}")


@with_net
def each_peer_sees_a_node_on_two_networks_at_the_address_it_can_reach(c, net):
    x = node(c, net, "x")
    a = node(c, net, "a", seeds=[f"10.71.1.1:{PORT}"])
    b = node(c, net, "b", seeds=[f"10.71.2.1:{PORT}"])
    c.wait(10, lambda: x.alive() == 3, "x sees both")
    check(address_of(a, "x") == f"10.71.1.1:{PORT}", str(a.peers()))
    check(address_of(b, "x") == f"10.71.2.1:{PORT}", str(b.peers()))
    check(address_of(x, "a") == f"10.71.1.2:{PORT}" and address_of(x, "b") == f"10.71.2.2:{PORT}", str(x.peers()))
    for d in (a, b):
        never_told(d, "127.", "172.17.", "[::1]")


@with_net
def a_node_that_dials_says_the_address_of_that_very_connection(c, net):
    a, b = node(c, net, "a"), node(c, net, "b")
    x = node(c, net, "x", seeds=[f"10.71.1.2:{PORT}", f"10.71.2.2:{PORT}"])
    c.wait(10, lambda: x.alive() == 3, "x sees both")
    c.wait(10, lambda: address_of(a, "x") == f"10.71.1.1:{PORT}", f"a sees x at its side: {a.peers()}")
    c.wait(10, lambda: address_of(b, "x") == f"10.71.2.1:{PORT}", f"b sees x at its side: {b.peers()}")
    for d in (a, b):
        never_told(d, "127.", "172.17.", "[::1]")


@with_net
def a_dead_interface_is_tried_and_the_other_one_works(c, net):
    net.address("a", "br2", "10.71.2.3/24")
    x = node(c, net, "x")
    a = node(c, net, "a", seeds=[f"10.71.1.1:{PORT}", f"10.71.2.1:{PORT}"])
    c.wait(10, lambda: x.alive() == 2 and a.alive() == 2, "x and a see each other")
    used = "1" if address_of(a, "x").startswith("10.71.1.") else "2"
    other = "2" if used == "1" else "1"
    at = os.path.getsize(a.log_path)
    net.ip("sw", f"link set br{used} down")
    a.wait_log(r"session down peer=x", 10, at)
    found = a.wait_log(rf"session up peer=x address=10\.71\.{other}\.1", 10, at)
    check(found, "over the other network")
    c.wait(10, lambda: x.alive() == 2 and a.alive() == 2, "x and a see each other again")
    check(address_of(a, "x") == f"10.71.{other}.1:{PORT}", str(a.peers()))


@with_net
def a_job_runs_over_nodes_that_meet_on_different_networks(c, net):
    """A ring of three over wildcards: every link must find the address that its two ends share."""
    net.address("a", "br2", "10.71.2.3/24")
    extra = OPEN + f"plugins: {{dirs: [{PLUGINS}]}}\n"
    x = node(c, net, "x", extra=extra)
    node(c, net, "a", seeds=[f"10.71.1.1:{PORT}"], extra=extra)
    b = node(c, net, "b", seeds=[f"10.71.2.1:{PORT}"], extra=extra)
    c.wait(10, lambda: x.alive() == 3, "x sees both")
    path = os.path.join(c.dir, "job.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write("name: job\nmodel: {plugin: quadratic, options: {params: 2000}}\ndata: {format: none}\n"
                "algorithm: {name: d-adam, period: 2}\nsteps: 60\nbatch: 4\nworkers: {min: 3, wait: 1m}\n")
    b.ctl("submit", path, "--wait", timeout=60)
    ranks = b.json("show", "job")["jobs"][0]["ranks"]
    check(len(ranks) == 3 and all(r["state"] == "done" for r in ranks), str(ranks))


@with_net
def public_addresses_are_not_served_and_the_reason_is_logged(c, net):
    x = node(c, net, "x")
    probe = ("import socket,sys\n"
             "s = socket.socket(); s.settimeout(3); s.bind((sys.argv[1], 0))\n"
             f"s.connect((sys.argv[2], {PORT}))\n"
             "try: print('closed' if s.recv(1) == b'' else 'bytes')\n"
             "except ConnectionResetError: print('closed')\n"
             "except socket.timeout: print('open')\n")
    rows = [("203.0.113.2", "203.0.113.1", "closed"), ("203.0.113.2", "10.71.1.1", "closed"),
            ("10.71.1.2", "203.0.113.1", "closed"), ("10.71.1.2", "10.71.1.1", "open")]
    for source, target, want in rows:
        got = run(*net.within("a"), "python3", "-c", probe, source, target).strip()
        check(got == want, f"{source} to {target}: {got}, expected {want}")
    x.wait_log(r"WARN +connection refused address=203\.0\.113\.2:\d+ .*public address", 5)
    a = node(c, net, "a", seeds=[f"203.0.113.1:{PORT}"])
    a.wait_log(r"cannot connect address=203\.0\.113\.1:17326 why=\"a public address: without keys", 5)
    check(x.alive() == 1 and a.alive() == 1, "nobody joined")


@with_net
def peers_of_a_node_says_why_it_cannot_be_reached(c, net):
    """Refused, timed out, no route, other cluster, public, no dadamd: each in words, with what to do next."""
    net.address("a", "br2", "10.71.2.3/24")
    node(c, net, "x")
    node(c, net, "b", extra="cluster: {name: other, open: on}\n")
    seeds = ["10.71.1.1:1", "10.71.1.77:17326", "10.99.0.1:17326", f"10.71.2.2:{PORT}", f"203.0.113.1:{PORT}",
             f"10.71.1.1:{PORT}"]
    a = node(c, net, "a", seeds=seeds)
    c.wait(10, lambda: a.alive() == 2, "a sees x")
    rows = [("10.71.1.1:1", "refused", "nobody listens"), ("10.99.0.1:17326", "no route", "no route to"),
            (f"10.71.2.2:{PORT}", "other cluster", 'cluster "other"'), (f"203.0.113.1:{PORT}", "public address", "private"),
            ("10.71.1.77:17326", "timed out|no route", "does not answer|no route")]
    for address, last, why in rows:
        def told(address=address, last=last):
            r = a.ctl("peers", address, "-o", "json", ok=False)
            places = json.loads(r.stdout)["addresses"] if r.returncode == 0 else []
            return any(p["address"] == address and re.fullmatch(last, p["last"] or "") for p in places)
        c.wait(12, told, f"{address}: {last}")
        r = a.json("peers", address)
        check(re.search(why, r["why"] or "") and r["next"], f"{address}: {r}")
        text = a.ctl("peers", address).stdout
        check(re.search(rf"why +.*({why})", text) and re.search(r"next +\w", text), text)
    r = a.json("peers", "x")
    check(r["why"] is None and r["peer"]["local"].startswith("10.71.1.2:") and r["peer"]["protocol_max"] >= 1, str(r))
    check(any(p["current"] and p["address"] == f"10.71.1.1:{PORT}" for p in r["addresses"]), str(r))
    check(a.json("peers", r["peer"]["id"][:8])["peer"]["name"] == "x", "by the start of its id")
    check(a.ctl("peers", "nobody", ok=False).returncode == 3, "an unknown node is exit 3")
    r = a.ctl("peers", "10.71.1.", ok=False)
    check(r.returncode == 3 and "can mean" in r.stderr, f"ambiguous: {r.returncode} {r.stderr}")


@with_net
def a_firewalled_node_is_said_to_time_out(c, net):
    """Its dead link is down at the switch: packets get lost, nobody refuses."""
    x = node(c, net, "x")
    a = node(c, net, "a", seeds=[f"10.71.1.1:{PORT}"])
    c.wait(10, lambda: a.alive() == 2, "a sees x")
    net.ip("a", "neigh replace 10.71.1.1 lladdr 02:00:00:00:00:01 dev br1 nud permanent")
    c.wait(20, lambda: any(p["last"] == "timed out" for p in a.json("peers", "x")["addresses"]), "timed out")
    r = a.json("peers", "x")
    check("firewall" in r["why"] and f"TCP port {PORT}" in r["next"], str(r))
    check(x.running(), "x runs")


@with_net
def both_families_are_served_on_one_port(c, net):
    x = node(c, net, "x", listen=f"'[::]:{PORT}'")
    a = node(c, net, "a", seeds=[f"[fd71:1::1]:{PORT}"], listen=f"'[::]:{PORT}'")
    b = node(c, net, "b", seeds=[f"10.71.2.1:{PORT}"])
    c.wait(10, lambda: x.alive() == 3, "x sees both")
    check(address_of(x, "a") == f"[fd71:1::2]:{PORT}" and address_of(x, "b") == f"10.71.2.2:{PORT}", str(x.peers()))
    check(address_of(a, "x") == f"[fd71:1::1]:{PORT}" and address_of(b, "x") == f"10.71.2.1:{PORT}", "x at each side")


@with_net
def link_local_addresses_work_on_their_link_and_are_told_to_nobody(c, net):
    for name, address in (("x", "fe80::1"), ("a", "fe80::2")):
        net.address(name, "br1", f"{address}/64")
    x = node(c, net, "x", listen=f"'[::]:{PORT}'")
    a = node(c, net, "a", seeds=[f"[fe80::1%br1]:{PORT}"], listen=f"'[::]:{PORT}'")
    b = node(c, net, "b", seeds=[f"10.71.2.1:{PORT}"])
    c.wait(10, lambda: x.alive() == 3, "x sees both")
    check(address_of(x, "a") == f"[fe80::2%br1]:{PORT}" and address_of(a, "x") == f"[fe80::1%br1]:{PORT}", str(x.peers()))
    never_told(b, "[fe80", "fe80")


@with_net
def an_open_node_says_so_loudly(c, net):
    x = node(c, net, "x")
    check(re.search(r"OPEN +no keys: anyone on this network can join", x.ctl("status").stdout), x.ctl("status").stdout)
    check(x.json("peers")["peers"][0]["address"] == f"0.0.0.0:{PORT}", "its own row says where it listens")
    n = x.json("status")["node"]
    check(n["open"] is True and "anyone on this network" in n["open_means"], str(n))
    x.wait_log(r"WARN +open cluster", 5)
    closed = c.daemon("closed", extra=OPEN)
    check("OPEN" not in closed.ctl("status").stdout and closed.json("status")["node"]["open"] is False, "loopback is not open")


if __name__ == "__main__":
    check(os.path.exists(DADAMCTL), f"no {DADAMCTL}: set DADAM_BUILD")
    main()
