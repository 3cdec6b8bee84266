#!/usr/bin/env python3
"""What dadamd tells a supervisor, heard at the other end of NOTIFY_SOCKET; how its log looks in the journal; and what
systemd says about the unit's sandbox. The unit under a real systemd is deb_test.py's."""
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile

from harness import DADAMD, check, main, skip, test

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SYSTEMD = os.path.join(SOURCE, "deploy", "systemd")


class Supervisor:
    """The socket that systemd would listen on."""

    def __init__(self, c):
        self.path = os.path.join(c.dir, "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.setblocking(False)
        self.heard = []

    def listen(self):
        while True:
            try:
                self.heard += self.socket.recv(4096).decode().splitlines()
            except BlockingIOError:
                return self.heard

    def status(self):
        return ([""] + [h[7:] for h in self.listen() if h.startswith("STATUS=")])[-1]


@test
def ready_comes_when_the_sockets_are_bound_and_stopping_at_the_end(c):
    s = Supervisor(c)
    a = c.daemon("a", start=False)
    a.start(wait=False, env={"NOTIFY_SOCKET": s.path})
    c.wait(10, lambda: "READY=1" in s.listen(), "READY=1")
    check(a.json("status")["node"]["name"] == "a", "at that moment dadamctl is answered")
    check(s.heard[0] == "READY=1" and s.heard.count("READY=1") == 1, f"once, before all else: {s.heard}")
    c.wait(10, lambda: s.status() == "0 peers; no job", "a lone node is ready")
    check(a.stop() == 0, "a clean end")
    check("STOPPING=1" in s.listen() and s.status().startswith("leaving"), f"{s.heard}")


@test
def the_status_line_follows_peers_and_job(c):
    s = Supervisor(c)
    a = c.daemon("a", start=False)
    a.start(env={"NOTIFY_SOCKET": s.path})
    b = c.daemon("b", seeds=[a.address])
    c.wait(20, lambda: s.status() == "1 peer; no job", "a peer")
    spec = os.path.join(SOURCE, "deploy", "examples", "synthetic-ctr.yaml")
    b.ctl("submit", spec, "--set", "workers.min=2", "--set", "workers.max=2", "--set", "steps=10000000", "--set", "data.rows=8192")
    c.wait(40, lambda: re.fullmatch(r"1 peer; job synthetic-ctr RUNNING, step [1-9]\d* of 10000000", s.status()), "a job and its step")
    at = s.status()
    c.wait(20, lambda: "RUNNING" in s.status() and s.status() != at, "the step is kept current")
    a.ctl("stop", "synthetic-ctr")
    c.wait(20, lambda: s.status() == "1 peer; no job", "the job has ended")
    b.kill()
    c.wait(20, lambda: re.fullmatch(r"0 peers, 1 (suspect|dead); no job", s.status()), "the peer is lost")


@test
def the_watchdog_hears_the_loop_and_only_a_loop_that_turns(c):
    s = Supervisor(c)
    a = c.daemon("a", start=False)
    a.start(env={"NOTIFY_SOCKET": s.path, "WATCHDOG_USEC": "400000"})  # no WATCHDOG_PID: for whoever reads it
    c.wait(10, lambda: s.listen().count("WATCHDOG=1") >= 5, "signs of life")
    a.process.send_signal(signal.SIGSTOP)
    c.wait(5, lambda: open(f"/proc/{a.process.pid}/stat", encoding="ascii").read().split()[2] == "T", "the process is stopped")
    before = s.listen().count("WATCHDOG=1")
    check(not select.select([s.socket], [], [], 1)[0], "a loop that hangs says nothing, for five times as long")
    a.process.send_signal(signal.SIGCONT)
    c.wait(10, lambda: s.listen().count("WATCHDOG=1") > before, "signs of life again")


@test
def another_process_has_no_say_and_no_watchdog_is_asked_of_us(c):
    s = Supervisor(c)
    a = c.daemon("a", start=False)
    a.start(env={"NOTIFY_SOCKET": s.path, "WATCHDOG_USEC": "100000", "WATCHDOG_PID": "1"})
    c.wait(10, lambda: s.status() == "0 peers; no job", "it is ready")
    b = c.daemon("b", seeds=[a.address])
    c.wait(20, lambda: s.status() == "1 peer; no job" and b.alive() == 2, "time has passed")
    check("WATCHDOG=1" not in s.listen(), "the watchdog is another process's")


@test
def a_bad_notify_socket_is_a_warning_and_the_daemon_runs(c):
    a = c.daemon("a", start=False)
    a.start(env={"NOTIFY_SOCKET": "nowhere"})
    check("NOTIFY_SOCKET is 'nowhere', allowed: an absolute path or @name" in a.log(), a.log())
    check(a.json("status")["node"]["name"] == "a", "it runs")


def first_lines(c, journal):
    """stderr of a daemon whose stderr is a stream socket, as under systemd. journal: JOURNAL_STREAM names it."""
    ours, theirs = socket.socketpair()
    at = os.fstat(theirs.fileno())
    a = c.daemon("a", start=False)
    env = {**os.environ, "JOURNAL_STREAM": f"{at.st_dev}:{at.st_ino if journal else at.st_ino + 1}"}
    p = subprocess.Popen([DADAMD, "--config", a.config], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs.fileno(), env=env)
    c.processes.append(p)
    theirs.close()
    ours.settimeout(30)
    text = ""
    while " version=" not in text or not text.endswith("\n"):
        text += ours.recv(4096).decode()
    p.terminate()
    check(p.wait(40) == 0, "a clean end")
    while more := ours.recv(4096).decode():
        text += more
    ours.close()
    return text.splitlines()


@test
def lines_for_the_journal_have_a_priority_and_no_time(c):
    lines = first_lines(c, journal=True)
    check(all(re.match(r"<[3467]>[a-z]", line) for line in lines), f"{lines}")
    check(any(line.startswith("<6>started version=") for line in lines), f"{lines}")


@test
def a_journal_stream_that_is_not_our_stderr_changes_nothing(c):
    lines = first_lines(c, journal=False)
    check(all(re.match(r"\d{4}-\d\d-\d\dT[\d:.]+Z (BUG|WARN|INFO|DEBUG) ", line) for line in lines), f"{lines}")


def installed_unit(folder):
    """The unit with a program that is here."""
    with open(os.path.join(SYSTEMD, "dadamd.service"), encoding="utf-8") as f:
        text = f.read()
    path = os.path.join(folder, "dadamd.service")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text.replace("/usr/bin/dadamd", DADAMD))
    return path, text


@test
def systemd_rates_the_unit_at_most_2(c):
    if not shutil.which("systemd-analyze"):
        skip("no systemd-analyze: apt-get install systemd")
    path, _ = installed_unit(c.dir)
    r = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=20", path], capture_output=True, text=True, timeout=60)
    level = re.search(r"exposure level for dadamd.service: ([\d.]+)", r.stdout)
    check(level and float(level.group(1)) <= 2.0 and r.returncode == 0, f"exit {r.returncode}: {r.stdout[-300:]} {r.stderr}")
    print(f"# exposure level {level.group(1)}")


@test
def systemd_understands_unit_user_and_folders(c):
    if not shutil.which("systemd-analyze"):
        skip("no systemd-analyze: apt-get install systemd")
    path, text = installed_unit(c.dir)
    r = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", path], capture_output=True, text=True, timeout=60)
    ours = [line for line in r.stderr.splitlines() if "dadamd.service" in line]
    check(not ours, f"{ours}")
    for key, value in (("Type", "notify"), ("RestartPreventExitStatus", "78"), ("User", "dadam"), ("Group", "dadam"), ("NotifyAccess", "main")):
        check(f"\n{key}={value}\n" in text, f"{key}={value}")
    for program, name in (("systemd-sysusers", "sysusers"), ("systemd-tmpfiles", "tmpfiles")):
        if not shutil.which(program):
            continue
        with tempfile.TemporaryDirectory(dir=c.dir) as root:
            os.makedirs(f"{root}/etc")
            command = [program, f"--root={root}", "--dry-run" if name == "sysusers" else "--create", os.path.join(SYSTEMD, f"dadamd.{name}")]
            if name == "tmpfiles":
                with open(f"{root}/etc/passwd", "w", encoding="ascii") as f:
                    f.write(f"dadam:x:{os.getuid()}:{os.getgid()}::/:/bin/sh\n")
                with open(f"{root}/etc/group", "w", encoding="ascii") as f:
                    f.write(f"dadam:x:{os.getgid()}:\n")
            r = subprocess.run(command, capture_output=True, text=True, timeout=60)
            check(r.returncode == 0, f"{program}: {r.stdout}{r.stderr}")
            if name == "tmpfiles":
                check(os.stat(f"{root}/var/lib/dadamd").st_mode & 0o777 == 0o750 and os.path.isdir(f"{root}/run/dadamd"), "state and socket's folder")


@test
def folders_of_the_supervisor_are_found_and_its_group_may_use_the_socket(c):
    state, runtime = os.path.join(c.dir, "lib"), os.path.join(c.dir, "run")
    os.mkdir(runtime)
    config = os.path.join(c.dir, "empty.yaml")
    with open(config, "w", encoding="ascii") as f:
        f.write("listen: 127.0.0.1:0\n")
    env = {**os.environ, "STATE_DIRECTORY": state, "RUNTIME_DIRECTORY": runtime}
    r = subprocess.run([DADAMD, "--config", config, "--check-config"], capture_output=True, text=True, env=env, timeout=60)
    check(f"control socket {runtime}/ctl.sock, state {state}," in r.stdout, r.stdout + r.stderr)
    p = subprocess.Popen([DADAMD, "--config", config], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
    c.processes.append(p)
    c.wait(10, lambda: os.path.exists(f"{runtime}/ctl.sock"), "the control socket")
    check(os.stat(f"{runtime}/ctl.sock").st_mode & 0o777 == 0o660, "its group may use it")


main()
