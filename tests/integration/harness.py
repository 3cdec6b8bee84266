"""Real daemons on loopback for tests: each in a directory of its own, with its own port, state and control
socket. Waits for events with deadlines, kills only what it started, speaks TAP. Python standard library only.

    from harness import Cluster, test, main

    @test
    def two_daemons_find_each_other(c):          # c: a Cluster in a fresh temporary directory
        a = c.daemon("a")
        b = c.daemon("b", seeds=[a.address])
        c.wait(10, lambda: a.alive() == 2, "a sees b")

    main()

The binaries are those of the build directory in DADAM_BUILD.
"""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

BUILD = os.environ.get("DADAM_BUILD", os.getcwd())
DADAMD = os.path.join(BUILD, "daemon", "dadamd")
DADAMCTL = os.path.join(BUILD, "ctl", "dadamctl")
SANITIZED = "libasan" in subprocess.run(["ldd", DADAMD], capture_output=True, text=True).stdout
SLOWER = 4 if SANITIZED else 1  # deadlines only

_tests = []


class Failure(Exception):
    pass


def check(what, text="check failed"):
    if not what:
        raise Failure(text)


def test(function):
    _tests.append(function)
    return function


def skip(why):
    raise Skipped(why)


class Skipped(Exception):
    pass


def free_port():
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    port = s.getsockname()[1]
    s.close()
    return port


class Daemon:
    """One dadamd. start() and kill() may be called again and again: directory, port and identity stay."""

    def __init__(self, cluster, name, config, port, within=()):
        self.cluster, self.name, self.port, self.within = cluster, name, port, list(within)
        self.dir = os.path.join(cluster.dir, name)
        os.makedirs(self.dir, exist_ok=True)
        self.state = os.path.join(self.dir, "state")
        self.socket = os.path.join(self.dir, "ctl.sock")
        self.config = os.path.join(self.dir, "dadamd.yaml")
        self.log_path = os.path.join(self.dir, "dadamd.log")
        self.process = None
        with open(self.config, "w", encoding="utf-8") as f:
            f.write(config)

    def start(self, wait=True, env=None):
        at = os.path.getsize(self.log_path) if os.path.exists(self.log_path) else 0
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen([*self.within, DADAMD, "--config", self.config], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                            env={**os.environ, **(env or {})})
        self.cluster.processes.append(self.process)
        if wait:
            found = self.wait_log(r" started .* listen=(\S+)", 10, at)
            self.port = int(found.group(1).rsplit(":", 1)[1])
        return self

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def log(self, at=0):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            f.seek(at)
            return f.read()

    def wait_log(self, pattern, seconds, at=0):
        return self.cluster.wait(seconds, lambda: re.search(pattern, self.log(at)), f"{self.name}: log line /{pattern}/")

    def kill(self):
        """As power loss does it."""
        self.process.kill()
        self.process.wait()

    def stop(self, seconds=10):
        """In order; the exit status."""
        self.process.terminate()
        return self.process.wait(seconds * SLOWER)

    def running(self):
        return self.process.poll() is None

    def ctl(self, *args, ok=True, timeout=30):
        r = subprocess.run([DADAMCTL, "--socket", self.socket, *args], capture_output=True, text=True, timeout=timeout * SLOWER,
                           stdin=subprocess.DEVNULL)
        if ok and r.returncode != 0:
            raise Failure(f"{self.name}: dadamctl {' '.join(args)}: exit {r.returncode}: {r.stderr.strip()}")
        return r

    def json(self, *args):
        return json.loads(self.ctl("-o", "json", *args).stdout)

    def peers(self):
        """name -> state as this daemon sees it."""
        try:
            return {p["name"]: p for p in self.json("peers")["peers"]}
        except Failure:
            return {}

    def states(self):
        return {name: p["state"] for name, p in self.peers().items()}

    def alive(self):
        return sum(s == "alive" for s in self.states().values())

    def resident_bytes(self):
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def workers(self):
        """pids of its worker processes."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as f:
            return [int(p) for p in f.read().split()]


class Cluster:
    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="dadam-it-")
        self.processes, self.daemons = [], []

    def daemon(self, name, seeds=(), start=True, extra="", data=(), port=0, timeouts="ping: 200ms, silence: 1500ms, dead: 2s",
               listen=None, within=()):
        """within: words before the program's (`ip netns exec NAME`)."""
        d = os.path.join(self.dir, name)
        config = f"node: {{name: {name}}}\nlisten: {listen or f'127.0.0.1:{port}'}\nstate: {d}/state\ncontrol: {{socket: {d}/ctl.sock}}\n"
        config += f"log: {{level: debug}}\ntimeouts: {{{timeouts}}}\n"
        if seeds:
            config += f"discovery: {{seeds: [{', '.join(json.dumps(s) for s in seeds)}]}}\n"
        if data:
            config += f"data: {{roots: [{', '.join(data)}]}}\n"
        node = Daemon(self, name, config + extra, port, within)
        self.daemons.append(node)
        return node.start() if start else node

    def chain(self, n, **kw):
        """n daemons that each know one other."""
        nodes = []
        for i in range(n):
            nodes.append(self.daemon("abcdefghijklmnop"[i], seeds=[nodes[-1].address] if nodes else [], **kw))
        return nodes

    def mesh(self, n, **kw):
        nodes = self.chain(n, **kw)
        self.wait(20, lambda: all(d.alive() == n for d in nodes), f"{n} daemons see each other")
        return nodes

    def wait(self, seconds, condition, what, every=0.05):
        end = time.monotonic() + seconds * SLOWER
        while True:
            result = condition()
            if result:
                return result
            if time.monotonic() > end:
                raise Failure(f"waited {seconds * SLOWER} s for: {what}")
            time.sleep(every)

    def end(self):
        for p in self.processes:
            if p.poll() is None:
                p.kill()
        for p in self.processes:
            p.wait()
        shutil.rmtree(self.dir, ignore_errors=True)


def _after(c):
    """What holds after every test: no sanitizer report, no BUG line, in any daemon's log."""
    for d in c.daemons:
        if not os.path.exists(d.log_path):
            continue
        bad = re.search(r".*(?:ERROR: \w+Sanitizer|runtime error:|Z BUG ).*", d.log())
        check(not bad, f"{d.name}: {bad.group(0) if bad else ''}")


def _run(function):
    c = Cluster()
    try:
        function(c)
        _after(c)
        return "ok", ""
    except Skipped as why:
        return "ok", f" # SKIP {why}"
    except Exception as e:  # every failure is a line of the report
        print("# " + "\n# ".join(traceback.format_exc().splitlines()))
        for d in c.daemons:
            if os.path.exists(d.log_path):
                print(f"# -- log of {d.name}")
                print("# " + "\n# ".join(d.log().splitlines()[-15:]))
        return "not ok", f" - {type(e).__name__}"
    finally:
        c.end()


def main():
    names = sys.argv[1:]
    chosen = [t for t in _tests if not names or t.__name__ in names]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print(f"1..{len(chosen)}", flush=True)
    failed = 0
    for i, t in enumerate(chosen, 1):
        began = time.monotonic()
        verdict, note = _run(t)
        failed += verdict != "ok"
        print(f"# {time.monotonic() - began:.1f} s\n{verdict} {i} - {t.__name__}{note}", flush=True)
    sys.exit(1 if failed else 0)
