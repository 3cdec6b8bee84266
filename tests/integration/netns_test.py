#!/usr/bin/env python3
"""Real daemons in network namespaces (deploy/testbed-netns.sh): the story of the testbed, and a partition that heals.

Skips with one line where the kernel or the rights don't allow it. Speaks TAP."""
import json
import os
import re
import signal
import subprocess
import sys
import time
import traceback

SOURCE = os.environ.get("DADAM_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
SCRIPT = os.path.join(SOURCE, "deploy", "testbed-netns.sh")
NAME = f"t{os.getpid() % 100000}"


def run(*args, ok=True, timeout=420, env=None):
    r = subprocess.run([SCRIPT, "--name", NAME, *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout,
                       stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})})
    if ok and r.returncode != 0:
        raise AssertionError(f"{args}: exit {r.returncode}\n{r.stdout}")
    return r.stdout


def wait(seconds, condition, what):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds} s for: {what}")
        time.sleep(0.2)


def peers(n):
    """name -> state in the eyes of node n"""
    return {p["name"]: p["state"] for p in json.loads(run("ctl", str(n), "-o", "json", "peers"))["peers"]}


def alive(n):
    return sorted(name for name, state in peers(n).items() if state == "alive")


def the_others_finish_when_a_node_dies_and_the_model_holds():
    out = run("all", "--nodes", "4", "--rate", "100mbit", env={"DADAM_TESTBED_STEPS": "600"})
    assert re.search(r"^killed node 4 at step \d+", out, re.M), out
    assert re.search(r"^mean model: test AUC 0\.\d+", out, re.M), out
    assert out.rstrip().endswith("testbed-netns: ok"), out


def a_partition_ends_in_one_view_when_it_heals():
    run("up", "--nodes", "4")
    everybody = [f"node-{n}" for n in range(1, 5)]
    try:
        before = {n: ids(n) for n in range(1, 5)}
        run("--cut", "1,2", "3,4")
        wait(60, lambda: alive(1) == everybody[:2] and alive(2) == everybody[:2], "1 and 2 see themselves only")
        wait(60, lambda: alive(3) == everybody[2:] and alive(4) == everybody[2:], "3 and 4 see themselves only")
        run("--heal")
        wait(90, lambda: all(alive(n) == everybody for n in range(1, 5)), "one view of four nodes")
        assert {n: ids(n) for n in range(1, 5)} == before, "the ids have changed"
    finally:
        run("down")


def ids(n):
    return sorted(p["id"] for p in json.loads(run("ctl", str(n), "-o", "json", "peers"))["peers"])


def nothing_is_left():
    spaces = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    assert NAME not in spaces, spaces
    assert not os.path.exists(f"/tmp/dadam-netns-{NAME}")


def main():
    tests = [the_others_finish_when_a_node_dies_and_the_model_holds, a_partition_ends_in_one_view_when_it_heals, nothing_is_left]
    check = subprocess.run([SCRIPT, "check"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if check.returncode == 77:
        print(f"1..0 # SKIP {check.stdout.strip()}")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print(f"1..{len(tests)}", flush=True)
    failed = 0
    try:
        for i, t in enumerate(tests, 1):
            try:
                t()
                print(f"ok {i} - {t.__name__}", flush=True)
            except Exception:  # every failure is a line of the report
                print("# " + "\n# ".join(traceback.format_exc().splitlines()))
                print(f"not ok {i} - {t.__name__}", flush=True)
                failed += 1
    finally:
        run("down", ok=False)
    return 1 if failed else 0


sys.exit(main())
