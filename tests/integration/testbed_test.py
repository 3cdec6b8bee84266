#!/usr/bin/env python3
"""Real containers: the testbed's story (deploy/docker/testbed.sh), the compose file as its README shows it, and
dadamd as process 1. Removes what it made, but the image, which the next run finds built.

Skips with one line where no Docker engine answers. Speaks TAP."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import traceback

SOURCE = os.path.abspath(os.environ.get("DADAM_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")))
FOLDER = os.path.join(SOURCE, "deploy", "docker")
SCRIPT = os.path.join(FOLDER, "testbed.sh")
NAME = f"dadamtest{os.getpid()}"
COMPOSE = ["docker-compose"] if shutil.which("docker-compose") else ["docker", "compose"]


def run(*command, ok=True, timeout=900):
    r = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout, cwd=FOLDER,
                       stdin=subprocess.DEVNULL, env={**os.environ, "COMPOSE_PROJECT_NAME": NAME})
    if ok and r.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: exit {r.returncode}\n{r.stdout}")
    return r.stdout


def compose(*args, **kw):
    return run(*COMPOSE, *args, **kw)


def node(*args, index=1, **kw):
    """dadamctl in a replica"""
    return compose("exec", "-T", f"--index={index}", "node", "dadamctl", *args, **kw)


def wait(seconds, condition, what):
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"waited {seconds} s for: {what}")
        time.sleep(0.5)


def alive():
    """ids of those that are alive in the eyes of the first replica"""
    try:
        return {p["id"] for p in json.loads(node("-o", "json", "peers"))["peers"] if p["state"] == "alive"}
    except (AssertionError, ValueError):
        return set()


def containers():
    return run("docker", "ps", "-q", "--filter", f"label=com.docker.compose.project={NAME}").split()


def the_image_is_built():
    run(SCRIPT, "--name", NAME, "image", timeout=1200)


def the_others_finish_when_a_container_dies_and_the_model_holds():
    out = run(SCRIPT, "--name", NAME, "all", "--nodes", "4")
    assert re.search(r"^killed node 4 at step \d+", out, re.M), out
    assert re.search(r"^mean model: test AUC 0\.\d+", out, re.M), out
    assert out.rstrip().endswith("testbed: ok"), out


def compose_forms_one_cluster():
    compose("up", "-d", "--no-build", "--scale", "node=3")
    wait(60, lambda: len(alive()) == 3, "three replicas to see each other, each with an id of its own")


def a_replica_that_comes_later_joins_and_the_job_goes():
    said = node("submit", "synthetic-ctr.yaml")
    job = re.search(r"submitted +([0-9a-f]+)", said).group(1)
    assert "3/4" in wait(30, lambda: (lambda t: t if "3/4" in t else None)(node("ls")), "the job to wait for one more node")
    compose("up", "-d", "--no-build", "--scale", "node=4")
    wait(60, lambda: len(alive()) == 4, "the fourth replica to join")
    assert "DONE" in node("watch", job, timeout=300)


def process_1_waits_for_orphans():
    one = containers()[0]
    run("docker", "exec", one, "sh", "-c", "(sleep 0.1 &)")
    states = lambda: run("docker", "exec", one, "sh", "-c", "cat /proc/[0-9]*/stat 2>/dev/null || :")
    wait(20, lambda: ") Z " not in states() and "(sleep)" not in states(), "the orphan to be waited for")


def containers_are_healthy_and_confined():
    one = containers()[0]
    wait(60, lambda: run("docker", "inspect", "-f", "{{.State.Health.Status}}", one).strip() == "healthy", "a healthy container")
    assert run("docker", "exec", one, "id", "-u").strip() == "17326"
    assert "Read-only" in run("docker", "exec", one, "touch", "/usr/x", ok=False)
    assert "Read-only" in run("docker", "exec", one, "touch", "/srv/data/x", ok=False)
    caps = run("docker", "exec", one, "grep", "CapBnd", "/proc/1/status")
    assert caps.split()[1] == "0000000000000000", caps


def a_container_ends_in_time_and_in_order():
    one = containers()[0]
    began = time.monotonic()
    run("docker", "stop", one)
    took = time.monotonic() - began
    assert took < 9, f"docker stop took {took:.1f} s: Docker had to kill it"
    assert run("docker", "inspect", "-f", "{{.State.ExitCode}}", one).strip() == "0"


def nothing_is_left():
    compose("down", "-v")
    for what in (["ps", "-a"], ["network", "ls"], ["volume", "ls"]):
        out = run("docker", *what)
        assert NAME not in out, out


TESTS = [the_image_is_built, the_others_finish_when_a_container_dies_and_the_model_holds, compose_forms_one_cluster,
         a_replica_that_comes_later_joins_and_the_job_goes, process_1_waits_for_orphans, containers_are_healthy_and_confined,
         a_container_ends_in_time_and_in_order, nothing_is_left]


def main():
    check = subprocess.run([SCRIPT, "check"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if check.returncode == 77:
        print(f"1..0 # SKIP {check.stdout.strip()}")
        return 0
    has_compose = subprocess.run([*COMPOSE, "version"], capture_output=True).returncode == 0 if shutil.which(COMPOSE[0]) else False
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print(f"1..{len(TESTS)}", flush=True)
    failed = 0
    try:
        for i, t in enumerate(TESTS, 1):
            began = time.monotonic()
            if i > 2 and not has_compose:
                print(f"ok {i} - {t.__name__} # SKIP there is neither docker-compose nor docker compose", flush=True)
                continue
            try:
                t()
                print(f"# {time.monotonic() - began:.1f} s\nok {i} - {t.__name__}", flush=True)
            except Exception:  # every failure is a line of the report
                print("# " + "\n# ".join(traceback.format_exc().splitlines()))
                print(f"not ok {i} - {t.__name__}", flush=True)
                failed += 1
    finally:
        run(SCRIPT, "--name", NAME, "down", ok=False)
        if has_compose:
            compose("down", "-v", ok=False)
    return 1 if failed else 0


sys.exit(main())
