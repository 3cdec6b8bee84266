#!/usr/bin/env python3
"""Daemons without jobs: starting, refusing, meeting, dying, and staying up whatever is thrown at them."""
import os
import pwd
import re
import resource
import signal
import socket
import stat
import subprocess
import threading
import time

from harness import DADAMCTL, DADAMD, SANITIZED, SLOWER, Failure, check, free_port, main, skip, test

MEGABYTE = 1 << 20


def run(*args, **kw):
    return subprocess.run([DADAMD, *args], capture_output=True, text=True, timeout=20 * SLOWER, stdin=subprocess.DEVNULL, **kw)


def write(c, name, text):
    path = os.path.join(c.dir, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


# ---- starting and refusing ----

@test
def an_empty_config_works_on_loopback_and_dadamctl_finds_the_daemon(c):
    os.chmod(c.dir, 0o755)
    home = os.path.join(c.dir, "home")
    os.mkdir(home, 0o700)
    kw = {}
    if os.geteuid() == 0:  # defaults of root are the system's: be somebody else
        nobody = pwd.getpwnam("nobody")
        os.chown(home, nobody.pw_uid, nobody.pw_gid)
        kw = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        if subprocess.run([DADAMD, "--version"], capture_output=True, **kw).returncode != 0:
            skip("the build directory is not readable for others")
    env = {"HOME": home, "XDG_RUNTIME_DIR": home, "PATH": os.environ["PATH"]}
    log = os.path.join(c.dir, "log")
    with open(log, "wb") as f:
        p = subprocess.Popen([DADAMD, "--config", write(c, "empty.yaml", "")], stderr=f, env=env, cwd="/", **kw)
    c.processes.append(p)
    said = lambda: open(log, encoding="utf-8").read()
    c.wait(10, lambda: " started " in said() or p.poll() is not None, "a start or a refusal")
    if p.poll() is not None and "in use" in said():
        skip("port 17326 is taken on this machine")
    check("listen=127.0.0.1:17326" in said(), said())
    r = subprocess.run([DADAMCTL, "status"], capture_output=True, text=True, env=env, timeout=20, **kw)
    check(r.returncode == 0 and "17326" in r.stdout, r.stdout + r.stderr)
    p.terminate()
    check(p.wait(10 * SLOWER) == 0, "exit status of an orderly end")


@test
def a_bad_config_ends_with_78_and_says_where(c):
    rows = [("node: {name: a}\nlistne: 127.0.0.1:1\n", r":2:1: .*listne.*", "listen"),
            ("listen: nowhere\n", r":1:9: .*nowhere", ""),
            ("timeouts: {ping: 5parsecs}\n", r":1:18: .*5parsecs", ""),
            ("a: [1, 2\n", r":\d+:\d+: ", ""),
            ("listen: 0.0.0.0:17326\n", r":1:9: .*0\.0\.0\.0", "10/8")]
    for text, pattern, hint in rows:
        path = write(c, "bad.yaml", text)
        for more in ([], ["--check-config"]):
            r = run("--config", path, *more)
            check(r.returncode == 78, f"exit {r.returncode} for {text!r}")
            check(re.search(re.escape(path) + pattern, r.stderr), f"{text!r}: {r.stderr}")
            check(hint in r.stderr, f"{text!r}: no hint {hint!r} in {r.stderr}")
    check(run("--config", os.path.join(c.dir, "none.yaml")).returncode == 78, "a config that is not there")
    check(run("--config", c.dir).returncode == 78, "a directory as config")


@test
def check_config_says_ok_and_starts_nothing(c):
    path = write(c, "good.yaml", f"listen: 127.0.0.1:0\nstate: {c.dir}/state\ncontrol: {{socket: {c.dir}/s}}\ndata: {{roots: [/no/such/root]}}\n")
    r = run("--config", path, "--check-config")
    check(r.returncode == 0 and f"{path}: ok" in r.stdout, r.stdout + r.stderr)
    check("/no/such/root" in r.stderr, "a data root that is not there is worth a warning")
    check(r.stderr.count("warning") == 1, r.stderr)
    poor = write(c, "poor.yaml", f"listen: 127.0.0.1:0\nstate: {c.dir}/state\ncontrol: {{socket: {c.dir}/s}}\n"
                 "plugins: {dirs: [/no/such/plugins]}\nworker: {program: /no/such/worker}\n")
    r = run("--config", poor, "--check-config")
    check(r.returncode == 0 and r.stderr.count("warning") == 2, r.stderr)
    check("plugin folder /no/such/plugins cannot be read" in r.stderr, r.stderr)
    check("worker.program /no/such/worker: No such file" in r.stderr and "or leave it out" in r.stderr, r.stderr)
    check(not os.path.exists(f"{c.dir}/state"), "nothing is created")
    check(run("--config", path, "--check-config", env={**os.environ, "DADAMD_CONFIG": "/none"}).returncode == 0, "--config wins")
    check(run("--check-config", env={**os.environ, "DADAMD_CONFIG": path}).returncode == 0, "DADAMD_CONFIG")


@test
def check_config_ends_as_the_start_would_and_leaves_nothing_behind(c):
    a = c.daemon("a")
    write(c, "file", "no directory")
    mine = {"listen": "127.0.0.1:0", "state": f"{c.dir}/new/state", "socket": f"{c.dir}/run/new/s"}
    rows = [({}, 0, "", ""),
            ({"state": "/dev/null/x"}, 74, "cannot create directory /dev/null/x: Not a directory", "set `state:`"),
            ({"state": f"{c.dir}/file"}, 74, f"cannot write in directory {c.dir}/file: Not a directory", "set `state:`"),
            ({"state": a.state}, 74, f"state directory {a.state} is in use by process {a.process.pid}", "stop that daemon"),
            ({"listen": a.address}, 71, f"cannot listen on {a.address}: address already in use", "ss -ltnp"),
            ({"listen": "10.255.255.254:17326"}, 71, "cannot listen on 10.255.255.254:17326: address not available", "address of this host"),
            ({"socket": "/dev/null/x/s"}, 71, "control socket: cannot create directory /dev/null/x: Not a directory", "set `control.socket:`"),
            ({"socket": f"{c.dir}/file"}, 71, "something that is no socket lies there", "move it away"),
            ({"socket": a.socket}, 71, f"cannot listen on {a.socket}: process {a.process.pid} listens there already", "stop that daemon")]
    for i, (change, code, found, hint) in enumerate(rows):
        keys = {**mine, **change}
        path = write(c, f"{i}.yaml", "cluster: {open: on}\nlisten: %(listen)s\nstate: %(state)s\ncontrol: {socket: %(socket)s}\n" % keys)
        before = sorted(os.listdir(c.dir))
        r = run("--config", path, "--check-config")
        check(r.returncode == code and found in r.stderr and hint in r.stderr, f"{change}: {r.returncode} {r.stderr}")
        check((": ok (" in r.stdout) == (code == 0), f"{change}: {r.stdout}")
        check(code == 0 or r.stderr.startswith(f"dadamd: {path}: "), f"{change}: {r.stderr}")
        check(sorted(os.listdir(c.dir)) == before, f"{change}: left behind: {os.listdir(c.dir)}")
    check(a.json("status")["node"]["name"] == "a", "the other daemon did not notice")


@test
def check_config_before_a_restart_says_that_the_daemon_runs(c):
    a = c.daemon("a")
    with open(a.config, "r+", encoding="utf-8") as f:  # the port that it has, not one of the system's choice
        text = re.sub(r"listen: \S+", f"listen: {a.address}", f.read())
        f.seek(0)
        f.write(text)
    at, pid = len(a.log()), a.process.pid
    r = run("--config", a.config, "--check-config")
    check(r.returncode == 0 and f"{a.config}: ok" in r.stdout, f"{r.returncode} {r.stdout}{r.stderr}")
    check(f"note: a daemon with this state directory is running: process {pid}\n" in r.stderr, r.stderr)
    check(a.json("status")["node"]["name"] == "a" and "WARN" not in a.log(at).upper(), a.log(at))
    a.kill()
    left = sorted(os.listdir(a.dir) + os.listdir(a.state))
    r = run("--config", a.config, "--check-config")
    check(r.returncode == 0 and "note" not in r.stderr, f"a dead daemon's lock and socket file: {r.stderr}")
    check(sorted(os.listdir(a.dir) + os.listdir(a.state)) == left, "its files are as they were")


@test
def usage_errors_end_with_64(c):
    del c
    for args in (["--nope"], ["--config"], ["extra"]):
        r = run(*args)
        check(r.returncode == 64 and "--help" in r.stderr, f"{args}: {r.returncode} {r.stderr}")
    check(run("--version").stdout.startswith("dadamd "), "version")
    check("--check-config" in run("--help").stdout, "help")


@test
def two_daemons_never_share_a_state_directory_a_port_or_a_socket(c):
    a = c.daemon("a")
    pid = str(a.process.pid)
    shared_state = write(c, "1.yaml", f"listen: 127.0.0.1:0\nstate: {a.state}\ncontrol: {{socket: {c.dir}/1}}\n")
    r = run("--config", shared_state)
    check(r.returncode == 74 and pid in r.stderr and "state:" in r.stderr, f"{r.returncode} {r.stderr}")
    shared_port = write(c, "2.yaml", f"listen: {a.address}\nstate: {c.dir}/2.state\ncontrol: {{socket: {c.dir}/2}}\n")
    r = run("--config", shared_port)
    check(r.returncode == 71 and str(a.port) in r.stderr and "ss -ltnp" in r.stderr, f"{r.returncode} {r.stderr}")
    shared_socket = write(c, "3.yaml", f"listen: 127.0.0.1:0\nstate: {c.dir}/3.state\ncontrol: {{socket: {a.socket}}}\n")
    r = run("--config", shared_socket)
    check(r.returncode == 71 and pid in r.stderr and a.socket in r.stderr, f"{r.returncode} {r.stderr}")
    check(a.json("status")["node"]["name"] == "a", "the first one lives on")


@test
def a_state_directory_that_cannot_be_made_ends_with_74(c):
    r = run("--config", write(c, "x.yaml", f"listen: 127.0.0.1:0\nstate: /dev/null/x\ncontrol: {{socket: {c.dir}/x}}\n"))
    check(r.returncode == 74 and "/dev/null" in r.stderr, f"{r.returncode} {r.stderr}")


@test
def the_control_socket_is_ours_alone_and_goes_with_the_daemon(c):
    a = c.daemon("a")
    mode = stat.S_IMODE(os.lstat(a.socket).st_mode)
    check(mode == (0o660 if os.geteuid() == 0 else 0o600), oct(mode))
    check(stat.S_IMODE(os.stat(a.state).st_mode) == 0o700, "state directory")
    check(a.stop() == 0, "exit status")
    check(not os.path.exists(a.socket), "socket file left behind")
    a.start()
    a.kill()
    check(os.path.exists(a.socket), "a killed daemon leaves its file")
    a.start()
    check(a.json("status")["node"]["name"] == "a", "and the next one replaces it")


@test
def broken_state_files_are_set_aside(c):
    a = c.daemon("a")
    first = a.json("status")["node"]["id"]
    a.stop()
    job = os.path.join(a.state, "jobs", "0" * 31 + "1")
    os.makedirs(job)
    for path in ("members", "incarnation", os.path.join(job, "record")):
        with open(os.path.join(a.state, path), "wb") as f:
            f.write(os.urandom(300))
    a.start()
    check(a.json("status")["node"]["id"] == first, "the identity was not touched")
    check(os.path.exists(os.path.join(a.state, "members.corrupt")), "members set aside")
    check(os.path.exists(os.path.join(job, "record.corrupt")), "record set aside")
    check(len(re.findall(r"WARN .*corrupt", a.log())) >= 2, "and told")


# ---- meeting and dying ----

@test
def four_daemons_that_each_know_one_other_form_a_full_mesh(c):
    nodes = c.mesh(4)
    ids = {d.json("status")["node"]["id"] for d in nodes}
    check(len(ids) == 4, "four identities")
    for d in nodes:
        check(sorted(d.states()) == ["a", "b", "c", "d"], f"{d.name} sees {d.states()}")


@test
def a_killed_daemon_is_suspect_then_dead_and_comes_back_as_itself(c):
    nodes = c.mesh(4)
    victim, others = nodes[1], nodes[:1] + nodes[2:]
    identity = victim.json("status")["node"]["id"]
    victim.kill()
    c.wait(5, lambda: all(d.states().get("b") in ("suspect", "dead") for d in others), "b is suspect")
    c.wait(8, lambda: all(d.states().get("b") == "dead" for d in others), "b is dead")
    check(all(d.alive() == 3 for d in others), "the others see each other")
    victim.start()
    c.wait(15, lambda: all(d.alive() == 4 for d in nodes), "b is back")
    check(all(d.peers()["b"]["id"] == identity for d in nodes), "with the same identity")


@test
def a_daemon_that_leaves_is_left_and_not_dead(c):
    nodes = c.mesh(3)
    check(nodes[2].stop() == 0, "exit status")
    c.wait(5, lambda: all(d.states().get("c") == "left" for d in nodes[:2]), "c has left")


@test
def the_remembered_table_finds_the_others_again_without_seeds(c):
    port = free_port()
    a = c.daemon("a", port=port)  # knows nobody
    b = c.daemon("b", seeds=[a.address], port=free_port())
    c.wait(10, lambda: a.alive() == 2 and b.alive() == 2, "a and b meet")
    c.wait(5, lambda: os.path.exists(os.path.join(a.state, "members")), "a remembers")
    b.kill()
    a.kill()
    b.start()  # its seed is down
    a.start()  # has no seed
    c.wait(15, lambda: a.alive() == 2 and b.alive() == 2, "a and b meet again")


@test
def a_stopped_process_is_noticed_and_taken_back(c):
    nodes = c.mesh(3)
    nodes[0].process.send_signal(signal.SIGSTOP)
    try:
        c.wait(10, lambda: all(d.states().get("a") in ("suspect", "dead") for d in nodes[1:]), "a is silent")
    finally:
        nodes[0].process.send_signal(signal.SIGCONT)
    c.wait(15, lambda: all(d.alive() == 3 for d in nodes), "all three again")


@test
def daemons_of_another_cluster_stay_away(c):
    a = c.daemon("a")
    b = c.daemon("b", seeds=[a.address], extra="cluster: {name: other}\n")
    c.wait(10, lambda: "cluster" in str(b.log()).split("started", 1)[1], "b is told why")
    check(a.alive() == 1 and b.alive() == 1, "no session")


# ---- whatever is thrown at it ----

def connect(target):
    s = socket.socket(socket.AF_UNIX if isinstance(target, str) else socket.AF_INET)
    s.settimeout(5 * SLOWER)
    s.connect(target)
    return s


def targets(d):
    return [("127.0.0.1", d.port), d.socket]


def answers(d):
    began = time.monotonic()
    d.json("status")
    return time.monotonic() - began


@test
def garbage_is_hung_up_on(c):
    nodes = c.mesh(2)
    for target in targets(nodes[0]):
        for junk in (b"GET / HTTP/1.1\r\n\r\n" * 10, os.urandom(100000), b"DADM" + b"\xff" * 60, b"\0" * 5000):
            s = connect(target)
            try:
                s.sendall(junk)
                while s.recv(65536):
                    pass
            except OSError:
                pass  # a reset is as good an end as any
            s.close()
    answers(nodes[0])
    check(nodes[0].alive() == 2, "the other daemon is still there")


@test
def slow_and_silent_connections_hold_nothing_up(c):
    nodes = c.mesh(2)
    held = []
    for target in targets(nodes[0]):
        for i in range(150):
            s = connect(target)
            if i % 3 == 1:
                s.send(b"D")  # the first byte of a frame, and then nothing
            elif i % 3 == 2:
                s.shutdown(socket.SHUT_WR)
            held.append(s)
    end = time.monotonic() + 3
    while time.monotonic() < end:
        check(answers(nodes[0]) < 2 * SLOWER, "an answer within 2 s")
        for s in held[1::30]:
            try:
                s.send(b"A")
            except OSError:
                pass
        check(nodes[1].states().get("a") == "alive", "heartbeats go on")
    c.wait(15, lambda: len(os.listdir(f"/proc/{nodes[0].process.pid}/fd")) < 110, "the silent ones on the peer port are closed")
    for s in held:
        s.close()


@test
def a_thousand_connects_leave_it_small_and_answering(c):
    d = c.daemon("a")
    answers(d)
    for target in targets(d):
        for _ in range(4):
            batch = []
            for _ in range(250):
                try:
                    batch.append(connect(target))
                except OSError:
                    pass
            answers(d)
            for s in batch:
                s.close()
    answers(d)
    size = d.resident_bytes()
    print(f"# resident {size / MEGABYTE:.1f} MB after 2 000 connections")
    check(SANITIZED or size <= 12e6, f"{size} bytes resident")


@test
def few_descriptors_are_no_end(c):
    d = c.daemon("a")
    resource.prlimit(d.process.pid, resource.RLIMIT_NOFILE, (48, 48))
    held = []
    for _ in range(3):
        for target in targets(d):
            for _ in range(100):
                try:
                    held.append(connect(target))
                except OSError:
                    pass
    for s in held:
        s.close()
    c.wait(15, lambda: d.ctl("status", ok=False).returncode == 0, "an answer once the strangers are gone")
    check(d.running(), "it lives")


def recorded_request(c, *args):
    """The bytes that dadamctl sends for a command."""
    path = os.path.join(c.dir, "fake.sock")
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen(1)
    p = subprocess.Popen([DADAMCTL, "--socket", path, *args], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    s, _ = server.accept()
    data = s.recv(65536)  # one send: the frame is small
    check(len(data) >= 20 and data[:4] == b"DADM", f"a frame: {data!r}")
    s.close()
    server.close()
    p.wait()
    os.unlink(path)
    return data


@test
def clients_that_never_read_hold_nothing_up(c):
    d = c.daemon("a")
    request = recorded_request(c, "peers")
    held = []
    for _ in range(60):
        s = connect(d.socket)
        s.setblocking(False)
        try:
            for _ in range(5000):
                s.send(request)
        except OSError:
            pass
        held.append(s)
    check(len(held) == 60, "all of them connected")
    for _ in range(20):
        check(answers(d) < 2 * SLOWER, "an answer within 2 s")
    size = d.resident_bytes()
    print(f"# resident {size / MEGABYTE:.1f} MB with 60 clients that do not read")
    check(SANITIZED or size <= 40e6, f"{size} bytes resident")
    for s in held:
        s.close()


@test
def a_state_directory_that_cannot_be_written_is_in_status_until_it_can(c):
    a = c.daemon("a")
    check(a.json("status")["node"]["state_trouble"] is None, "no trouble yet")
    block = os.path.join(a.state, "members.tmp")
    os.mkdir(block)  # stops root too
    c.daemon("b", seeds=[a.address])
    trouble = c.wait(20, lambda: a.json("status")["node"]["state_trouble"], "status says that the members were not written")
    check("members.tmp" in trouble["why"] and "tried again" in trouble["hint"] and trouble["since"], str(trouble))
    check("CANNOT BE WRITTEN since " + trouble["since"] in a.ctl("status").stdout, a.ctl("status").stdout)
    check(len(re.findall(r" WARN +state directory", a.log())) == 1, "told once in the log")
    os.rmdir(block)
    c.wait(20, lambda: a.json("status")["node"]["state_trouble"] is None, "the trouble is over")
    check(os.path.exists(os.path.join(a.state, "members")), "the members are written now")


@test
def broken_frames_of_a_good_request_are_refused_one_by_one(c):
    d = c.daemon("a")
    good = recorded_request(c, "show", "x")
    for i in range(len(good)):
        s = connect(d.socket)
        s.sendall(good[:i] + bytes([good[i] ^ 0x40]) + good[i + 1:])
        s.shutdown(socket.SHUT_WR)
        try:
            while s.recv(65536):
                pass
        except OSError:
            pass
        s.close()
    answers(d)


@test
def four_daemons_need_at_most_12_megabytes_each(c):
    if SANITIZED:
        skip("a sanitizer's own memory would be measured")
    nodes = c.mesh(4)
    sizes = [d.resident_bytes() for d in nodes]
    print("# resident " + " ".join(f"{s / 1e6:.1f} MB" for s in sizes))
    check(max(sizes) <= 12e6, str(sizes))


@test
def many_clients_at_once_are_all_answered(c):
    d = c.daemon("a")
    failed = []

    def ask():
        try:
            for _ in range(5):
                answers(d)
        except (Failure, subprocess.SubprocessError, ValueError) as e:
            failed.append(e)

    threads = [threading.Thread(target=ask) for _ in range(20)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    check(not failed, str(failed[:1]))


main()
