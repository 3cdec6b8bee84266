#!/usr/bin/env python3
"""`wire.zstd: auto` and `wire.delta: auto` on a slow network: the loopback of a network namespace of our own, shaped to 100 Mbit/s by
tc. Where namespaces or tc are not allowed every test skips and says why. The host's loopback is left alone."""
import os
import re
import shutil
import subprocess
import sys
import time

from harness import BUILD, SLOWER, check, main, skip, test

os.environ["DADAM_PLUGIN_PATH"] = os.path.join(BUILD, "tests", "plugins") + ":" + os.path.join(BUILD, "libcore", "models")
RATE = 100e6 / 8  # bytes per second
PARAMS = 1500000
INSIDE = "DADAM_TEST_NAMESPACE"  # set in the child; its value: why there is no shaped network, or ""
SHAPE = "ip link set lo up"
TC = "tc qdisc add dev lo root tbf rate 100mbit burst 512kb latency 50ms"
SLOWER_TC = "tc qdisc add dev lo root tbf rate 20mbit burst 160kb latency 200ms"  # no model fits into the burst


def enter():
    """Start ourselves again with a loopback of our own; without the right to, go on and skip."""
    if INSIDE in os.environ:
        return
    why = ""
    if not all(shutil.which(p) for p in ("unshare", "ip", "tc")):
        why = "unshare, ip or tc is not installed"
    else:
        for flags in (["-n"], ["-r", "-n"]):
            tried = subprocess.run(["unshare", *flags, "sh", "-c", f"{SHAPE} && {TC}"], capture_output=True, text=True, check=False)
            if tried.returncode == 0:
                os.environ[INSIDE] = ""
                os.execvp("unshare", ["unshare", *flags, "sh", "-c", f'{SHAPE} && exec "$@"', "sh", sys.executable, *sys.argv])
            why = "no shaped network namespace: " + " ".join(tried.stderr.split())
    os.environ[INSIDE] = why


def tc(command):
    if os.environ[INSIDE]:
        skip(os.environ[INSIDE])
    r = subprocess.run(command.split(), capture_output=True, text=True, check=False)
    check(r.returncode == 0, r.stderr)


def job(d, name="job"):
    return d.json("show", name)["jobs"][0]


def submit(c, nodes, steps, algorithm="d-adam", params=PARAMS, zstd="auto"):
    path = os.path.join(c.dir, "job.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"name: job\nmodel: {{plugin: quadratic, options: {{params: {params}}}}}\ndata: {{format: none}}\n"
                f"algorithm: {{name: {algorithm}, period: 1}}\nsteps: {steps}\nbatch: 1\nworkers: {{min: {len(nodes)}, wait: 1m}}\n"
                f"evaluate: {{every: 100000}}\ntimeouts: {{link: 10s}}\nwire: {{zstd: {zstd}}}\n")
    nodes[0].ctl("submit", path)


def submit_ctr(c, nodes, name, wire):
    """A real model; only the `wire` of its jobs differs."""
    path = os.path.join(c.dir, f"{name}.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"name: {name}\nmodel: {{plugin: deepfm, options: {{factors: 8, hidden: [32, 16]}}}}\n"
                "data: {format: synthetic-ctr, rows: 16384, test_rows: 2048}\n"
                "algorithm: {name: d-adam, period: 4, learning_rate: 4e-3}\nworkers: {min: 2, wait: 1m}\n"
                f"batch: 128\nsteps: 160\ntimeouts: {{link: 10s}}\nwire: {{{wire}}}\n")
    nodes[0].ctl("submit", path)


def sent():
    """Time, and bytes that lo has carried."""
    with open("/proc/net/dev", encoding="ascii") as f:
        return time.monotonic(), int(re.search(r"lo:\s*(\d+)", f.read()).group(1))


def round_at(c, d, least, seconds):
    def there():
        j = job(d)
        check(j["phase"] not in ("failed", "stopped"), j["why"])
        return j["phase"] == "done" or min((r["round"] for r in j["ranks"]), default=0) >= least
    c.wait(seconds, there, f"round {least}", 0.01)
    return sent()


def finish(c, nodes, seconds, name="job"):
    for d in nodes:
        c.wait(seconds, lambda d=d: job(d, name)["phase"] in ("done", "failed"), f"{d.name}: the end")
        check(job(d, name)["phase"] == "done", job(d, name)["why"])


def sentences(nodes):
    return [re.findall(r"wire\.zstd (?:on|off): .*", d.ctl("logs", "job").stdout) for d in nodes]


def ratio(d, name="job"):
    r = job(d, name)["ranks"][0]
    return r["wire_bytes"] / r["payload_bytes"]


def check_full(c, d):
    """Ten rounds from the third on take at most 1.1 times what the rate lets through. Sanitizers slow the codec down, not the link."""
    begin, before = round_at(c, d, 3, 60)
    end, after = round_at(c, d, 13, 60)
    took, carried = (end - begin) / 10, (after - before) / 10
    print(f"# {carried / took / RATE:.3f} of 100 Mbit/s used, {took:.3f} s a round of {carried / 1e6:.2f} MB in all")
    check(took <= (1.10 if SLOWER == 1 else 2) * carried / RATE, f"a round takes {took:.3f} s, bytes/rate is {carried / RATE:.3f} s")


def turned_on(turn):
    """Under load zstd may turn out slower than the link later."""
    said, part = turn
    return all(lines and " on: " in lines[0] for lines in said) and part < 0.97


@test
def on_a_slow_link_zstd_turns_itself_on_and_the_link_is_full(c):
    """A codec that has to wait for a busy processor is rightly found slower than the link: such a turn says nothing."""
    tc(TC)
    try:
        nodes, turns = c.mesh(2), []
        while len(turns) < 4 and not (turns and turned_on(turns[-1])):
            submit(c, nodes, 16)
            check_full(c, nodes[0])
            finish(c, nodes, 60)
            turns.append((sentences(nodes), ratio(nodes[0])))
            print(f"# {turns[-1]}")
        check(turned_on(turns[-1]), f"{turns}")
    finally:
        tc("tc qdisc del dev lo root")


@test
def a_ring_of_int8_differences_fills_a_slow_link_in_both_orders(c):
    tc(TC)
    try:
        nodes = c.mesh(3)
        for order in ("fresh", "lagged"):
            submit(c, nodes, 16, f"cd-adam, order: {order}, compress: int8", PARAMS // 2, "off")
            check_full(c, nodes[0])
            finish(c, nodes, 60)
    finally:
        tc("tc qdisc del dev lo root")


def saved(sizes):
    return sizes[2] < 0.92 * sizes[1] and sizes[1] < 0.95 * sizes[0]


def three_ways(c, nodes, attempt):
    """The same job raw, with planes, with `auto`: bytes sent for each of the parameters. The models are the same."""
    sizes, means = [], []
    for what, wire in (("raw", "zstd: off"), ("planes", "delta: off"), ("differences", "")):
        name = f"{what}{attempt}"
        submit_ctr(c, nodes, name, wire)
        finish(c, nodes, 60, name)
        sizes.append(ratio(nodes[0], name))
        means.append(job(nodes[0], name)["mean"]["metrics"])
    print(f"# bytes sent for each of the parameters: raw {sizes[0]:.3f}, planes {sizes[1]:.3f}, differences {sizes[2]:.3f}")
    check(means[0] == means[1] == means[2], f"the models differ: {means}")
    return sizes


@test
def on_a_slow_link_exact_differences_travel_and_change_nothing(c):
    tc(SLOWER_TC)
    try:
        nodes = c.mesh(2)
        turns = []
        while len(turns) < 4 and not (turns and saved(turns[-1])):
            turns.append(three_ways(c, nodes, len(turns)))
        check(saved(turns[-1]), f"nothing was saved in any of {turns}")
    finally:
        tc("tc qdisc del dev lo root")


@test
def on_a_fast_link_it_stays_off(c):
    tc("ip link set lo up")
    nodes = c.mesh(2)
    submit(c, nodes, 80)
    finish(c, nodes, 60)
    for said in sentences(nodes):  # a machine that is very busy may look slow for a round or two
        check(not said or " off: " in said[-1], f"it said {said}")
    check(ratio(nodes[0]) > 0.9, f"{ratio(nodes[0])} bytes sent for each of the payload")


enter()
main()
