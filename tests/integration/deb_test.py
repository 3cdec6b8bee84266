#!/usr/bin/env python3
"""The Debian packages, in a Debian of their own: built from this tree, installed into a debootstrap chroot without
network, run there, removed and purged without leftovers; then the same chroot is booted with systemd, where the
service runs in its sandbox, trains, and is watched.

The chroot's base is made once, below the build directory (debian-base; remove it to make it anew). DADAM_DEBS names a folder with packages that are built already."""
import atexit
import glob
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time

from harness import BUILD, check, main, skip, test

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEBS, BASE = os.environ.get("DADAM_DEBS", os.path.join(BUILD, "debs")), os.path.join(BUILD, "debian-base")
# what the packages depend on, and systemd: installed with the base, so that the tests need no network
LIBRARIES = "libdnnl2 libfyaml0 libisal2 libjansson4 libopenblas0 libopenblas0-serial libprotobuf-c1 libuv1 libzstd1 pkg-config systemd"
ENV = {**{k: v for k, v in os.environ.items() if not k.endswith("SAN_OPTIONS")}, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
_made = {}


def run(*command, timeout=300, ok=True, **kw):
    r = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                       timeout=timeout, env=ENV, **kw)
    check(not ok or r.returncode == 0, f"{' '.join(command)[:200]}: exit {r.returncode}:\n{r.stdout[-3000:]}")
    return r


def once(function):
    """The first call's result, or the reason why it was skipped, for all."""
    def wrapper():
        if function not in _made:
            try:
                _made[function] = function(), None
            except Exception as why:
                _made[function] = None, why
        result, why = _made[function]
        if why is not None:
            raise why.with_traceback(None)
        return result
    return wrapper


@once
def packages():
    for program, package in (("dpkg-buildpackage", "dpkg-dev"), ("dh", "debhelper")):
        if not shutil.which(program):
            skip(f"no {program}: apt-get install {package}")
    if "DADAM_DEBS" not in os.environ:
        shutil.rmtree(DEBS, ignore_errors=True)
        run(os.path.join(SOURCE, "deploy", "debian", "build.sh"), "--output", DEBS, timeout=600)
    found = {os.path.basename(d).split("_")[0]: d for d in glob.glob(DEBS + "/*.deb")}
    return {name: d for name, d in found.items() if not name.endswith("-dbgsym")}


def in_chroot(root, *command, **kw):
    return run("unshare", "--mount", "sh", "-c", 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"', root, *command, **kw)


@once
def base():
    if os.geteuid() != 0:
        skip("only root can make a chroot")
    if not shutil.which("debootstrap"):
        skip("no debootstrap: apt-get install debootstrap")
    if run("unshare", "--mount", "--net", "true", ok=False).returncode != 0:
        skip("no namespaces here: unshare --mount --net is refused")
    complete = BASE + "/.complete"  # a file with what is in it
    if os.path.exists(complete) and open(complete, encoding="ascii").read() == LIBRARIES:
        return BASE
    shutil.rmtree(BASE, ignore_errors=True)
    r = run("debootstrap", "--variant=minbase", "bookworm", BASE, timeout=500, ok=False)
    if r.returncode != 0:
        skip(f"debootstrap could not make a Debian here: {r.stdout.strip().splitlines()[-1]}")
    in_chroot(BASE, "sh", "-c", f"apt-get update -q && apt-get install -qy --no-install-recommends {LIBRARIES} && apt-get clean", timeout=500)
    with open(complete, "w", encoding="ascii") as f:
        f.write(LIBRARIES)
    return BASE


def fresh_root():
    """A copy of the base with the packages in /root, removed when the tests end."""
    where = tempfile.mkdtemp(prefix="debian-", dir=BUILD)
    atexit.register(shutil.rmtree, where, ignore_errors=True)
    root = os.path.join(where, "root")
    run("cp", "-a", "--reflink=auto", base(), root)
    for deb in packages().values():
        shutil.copy(deb, root + "/root/")
    with open(root + "/root/Packages", "w", encoding="utf-8") as f:  # a plain APT repository
        f.write(subprocess.run(["dpkg-scanpackages", "--multiversion", "."], cwd=root + "/root", capture_output=True, text=True, env=ENV, timeout=60).stdout)
    return root


@test
def the_three_packages_hold_what_belongs_to_them(c):
    debs = packages()
    check(set(debs) == {"dadamd", "dadamctl", "libdadam-dev"}, f"built: {sorted(debs)}")
    content = {name: run("dpkg-deb", "-c", deb).stdout for name, deb in debs.items()}
    for name, patterns in {
            "dadamd": ["/usr/bin/dadamd", "/usr/bin/dadam-worker", r"/usr/lib/\S+/dadam/models/deepfm.so", r"/usr/lib/\S+/dadam/models/logreg.so",
                       "/etc/dadamd/dadamd.yaml", "/lib/systemd/system/dadamd.service", "/usr/lib/sysusers.d/dadamd.conf",
                       "/usr/lib/tmpfiles.d/dadamd.conf", "/usr/share/doc/dadamd/README.md", "/usr/share/man/man8/dadamd.8.gz"],
            "dadamctl": ["/usr/bin/dadamctl", "/usr/share/man/man1/dadamctl.1.gz", "/usr/share/bash-completion/completions/dadamctl"],
            "libdadam-dev": ["/usr/include/dadam/model.h", r"/usr/lib/\S+/pkgconfig/dadam.pc"]}.items():
        for p in patterns:
            check(re.search(rf" \.{p}$", content[name], re.M), f"{name} lacks {p}")
    check(run("dpkg-deb", "-I", debs["dadamd"], "conffiles").stdout.split() == ["/etc/dadamd/dadamd.yaml"], "the configuration is a conffile")
    version = re.search(r"version: '([\d.]+)'", open(os.path.join(SOURCE, "meson.build"), encoding="utf-8").read()).group(1)
    for name, deb in debs.items():
        found = run("dpkg-deb", "-f", deb, "Version").stdout.strip()
        check(found == version, f"{name}: version {found}, the tree's is {version}")


@test
def lintian_finds_no_fault_that_is_not_known(c):
    debs = packages()
    if not shutil.which("lintian"):
        skip("no lintian: apt-get install lintian")
    known = "bogus-mail-host,bogus-mail-host-in-debian-changelog,initial-upload-closes-no-bugs,no-manual-page"
    r = run("lintian", "--suppress-tags", known, "--allow-root", *debs.values(), ok=False)
    faults = [line for line in r.stdout.splitlines() if line[:3] in ("E: ", "W: ")]
    check(not faults, "\n".join(faults))


# In namespaces of its own: no network but loopback. $1: the root.
LIFE = r"""
set -eu
mount -t proc proc "$1/proc"
ip link set lo up
in_root() { chroot "$1" sh -euc "$2"; }
listing() { (cd "$1" && find . -xdev \( -path ./proc -o -path ./var/lib/dpkg -o -path ./var/lib/apt -o -path ./var/cache -o -path ./var/log \) -prune \
	-o \( -name '*-' -path './etc/*' \) -o -print | sort); }
listing "$1" >"$1/../before"
in_root "$1" 'apt-get install -qy --no-install-recommends /root/*.deb' 
echo "== installed"
in_root "$1" 'dadamd --version; dadamctl --version; dadamd --check-config; pkg-config --cflags --libs dadam; id dadam'
env STATE_DIRECTORY=/var/lib/dadamd RUNTIME_DIRECTORY=/run/dadamd chroot --userspec=dadam:dadam "$1" dadamd 2>"$1/../log" &
daemon=$!
n=0
until in_root "$1" 'dadamctl status' >/dev/null 2>&1; do
	n=$((n + 1)); [ $n -lt 300 ] && kill -0 $daemon || { cat "$1/../log"; exit 1; }; sleep 0.1
done
echo "== runs"
in_root "$1" 'stat -c "%U:%G %a" /run/dadamd/ctl.sock; dadamctl submit /usr/share/doc/dadamd/examples/synthetic-ctr.yaml \
	--set workers.min=1 --set steps=200 --set evaluate.every=100 --wait
	dadamctl export synthetic-ctr -o /root/model.safetensors; test -s /root/model.safetensors; rm /root/model.safetensors'
kill -TERM $daemon
wait $daemon
echo "== ended"
in_root "$1" 'apt-get remove -qy dadamd dadamctl libdadam-dev'
in_root "$1" 'test -e /etc/dadamd/dadamd.yaml; test -e /var/lib/dadamd/; ! command -v dadamd; getent passwd dadam'
echo "== removed, state and configuration kept"
in_root "$1" 'apt-get purge -qy dadamd; ! getent passwd dadam; ! getent group dadam'
listing "$1" >"$1/../after"
diff "$1/../before" "$1/../after"
echo "== purged without leftovers"
"""


@test
def installed_in_a_chroot_a_daemon_trains_and_purge_leaves_nothing(c):
    root = fresh_root()
    out = run("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "sh", "-c", LIFE, "sh", root, ok=False)
    check(out.returncode == 0 and "== purged without leftovers" in out.stdout, out.stdout[-3500:])
    for sentence in ("dadamd.yaml: ok", r"uid=\d+\(dadam\) gid=\d+\(dadam\)", "dadam:dadam 660", r"DONE\s+step 200 / 200"):
        check(re.search(sentence, out.stdout), f"{sentence} is not in:\n{out.stdout[-3500:]}")


class Machine:
    """A root booted with systemd in namespaces. Ends with its close()."""

    def __init__(self, root):
        self.log = open(root + "/../boot.log", "w+", encoding="utf-8", errors="replace")
        self.process = subprocess.Popen(
            ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--private-network", "--console=pipe", "--boot", "-D", root],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, env=ENV)
        atexit.register(self.close)
        self.leader = None

    def find_leader(self):
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        for pid in open(path, encoding="ascii").read().split() if os.path.exists(path) else []:
            try:
                below = open(f"/proc/{pid}/task/{pid}/children", encoding="ascii").read().split()
                self.leader = next((p for p in [pid, *below] if os.readlink(f"/proc/{p}/exe").endswith("/systemd/systemd")), self.leader)
            except OSError:
                pass  # one of those that come and go while it starts
        return self.leader

    def sh(self, script, ok=True):
        return run("nsenter", "-t", self.leader, "-m", "-u", "-i", "-n", "-p", "--", "sh", "-euc", script, ok=ok, timeout=120).stdout

    def show(self, what):
        return self.sh(f"systemctl show dadamd -P {what}").strip()

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()


def wait_for(seconds, condition, what):
    end = time.monotonic() + seconds
    while True:
        result = condition()
        if result:
            return result
        check(time.monotonic() < end, f"waited {seconds} s for: {what}")
        time.sleep(0.2)


@once
def machine():
    base()
    if not shutil.which("systemd-nspawn"):
        skip("no systemd-nspawn: apt-get install systemd-container")
    root = fresh_root()
    in_chroot(root, "sh", "-c", "apt-get install -qy --no-install-recommends /root/*.deb")
    m = Machine(root)
    end = time.monotonic() + 60
    while m.process.poll() is None and time.monotonic() < end:
        if m.find_leader() and m.sh("systemctl is-system-running || true", ok=False).strip() in ("running", "degraded"):
            return m
        time.sleep(0.3)
    m.process.poll() is None and m.process.kill()
    m.log.seek(0)
    skip(f"systemd cannot be booted in namespaces here: {' '.join(m.log.read().split())[-200:]}")


@test
def systemd_starts_the_service_and_shows_what_it_does(c):
    m = machine()
    wait_for(30, lambda: m.show("ActiveState") == "active", "the service is active: READY=1 was heard")
    check(m.show("StatusText") == "0 peers; no job", m.show("StatusText"))
    check(m.show("User") == "dadam" and m.show("Type") == "notify", "Type=notify, User=dadam")
    journal = m.sh("journalctl -u dadamd -o json --output-fields=PRIORITY,MESSAGE")
    rows = [r for r in map(json.loads, journal.splitlines()) if r["MESSAGE"].startswith("started version=")]
    check(len(rows) == 1 and rows[0]["PRIORITY"] == "6", f"one line without time stamp, its priority is the journal's: {journal[-800:]}")


@test
def a_job_runs_in_the_sandbox(c):
    m = machine()
    status = m.sh("cat /proc/$(systemctl show dadamd -P MainPID)/status")
    check(re.search(r"Seccomp:\s+2", status) and re.search(r"NoNewPrivs:\s+1", status) and re.search(r"CapBnd:\s+0+\n", status), status)
    m.sh("dadamctl submit /usr/share/doc/dadamd/examples/synthetic-ctr.yaml --set workers.min=1 --set steps=100000000 --set name=long")
    text = wait_for(60, lambda: re.search(r"0 peers; job long RUNNING, step ([1-9]\d*) of 100000000", m.show("StatusText")), "STATUS tells the step")
    wait_for(30, lambda: int(re.search(r"step (\d+)|$", m.show("StatusText")).group(1) or 0) > int(text.group(1)), "STATUS is kept current")
    m.sh("dadamctl stop long")
    out = m.sh("dadamctl submit /usr/share/doc/dadamd/examples/synthetic-ctr.yaml --set workers.min=1 --set steps=200 --wait")
    check(re.search(r"DONE\s+step 200 / 200", out), out)
    wait_for(20, lambda: m.show("StatusText") == "0 peers; no job", "STATUS forgets ended jobs")


@test
def a_loop_that_hangs_is_restarted_by_the_watchdog(c):
    m = machine()
    m.sh("mkdir -p /run/systemd/system/dadamd.service.d; printf '[Service]\\nWatchdogSec=2\\n' >/run/systemd/system/dadamd.service.d/w.conf;"
         "systemctl daemon-reload; systemctl restart dadamd")
    pid = m.show("MainPID")
    time.sleep(5)  # what is awaited is that nothing happens: two watchdog times and more
    check(m.show("MainPID") == pid and m.show("NRestarts") == "0", "a loop that turns is left alone")
    m.sh(f"kill -STOP {pid}")
    wait_for(40, lambda: m.show("MainPID") not in (pid, "0") and m.show("ActiveState") == "active", "another process has taken over")
    check("Watchdog timeout" in m.sh("journalctl -u dadamd"), "by the watchdog")
    m.sh("rm -r /run/systemd/system/dadamd.service.d; systemctl daemon-reload; systemctl restart dadamd")


@test
def a_bad_configuration_stops_the_service_for_good_with_the_sentence_in_the_journal(c):
    m = machine()
    m.sh("systemctl stop dadamd")
    check(m.show("Result") == "success", f"an orderly stop is a success, not {m.show('Result')}")
    check("leaving" in m.sh("journalctl -u dadamd"), "it said so")
    m.sh("cp /etc/dadamd/dadamd.yaml /root/good; echo 'listn: 1' >>/etc/dadamd/dadamd.yaml")
    m.sh("! systemctl start dadamd")
    check(m.show("ExecMainStatus") == "78" and m.show("NRestarts") == "0" and m.show("ActiveState") == "failed",
          m.sh("systemctl status dadamd || true"))
    check("unknown key 'listn'" in m.sh("journalctl -u dadamd"), "the sentence")
    m.sh("cp /root/good /etc/dadamd/dadamd.yaml; systemctl start dadamd; dadamctl status")


def apply_vm_file(m):
    """What cloud-init does with deploy/cloud-init/node.yaml, in its order; the repository is a folder."""
    try:
        import yaml
    except ImportError:
        skip("no YAML for Python: apt-get install python3-yaml")
    with open(os.path.join(SOURCE, "deploy", "cloud-init", "node.yaml"), encoding="utf-8") as f:
        node = yaml.safe_load(f)
    for command in node["bootcmd"]:
        m.sh(shlex.join(command[3:] if command[0] == "cloud-init-per" else command))
    for f in node["write_files"]:
        m.sh(f"mkdir -p {os.path.dirname(f['path'])}; printf %s {shlex.quote(f['content'])} >{f['path']}; chmod {f['permissions']} {f['path']}")
    source = re.sub(r"http://\S+", "file:/root", node["apt"]["sources"]["dadam.list"]["source"])
    m.sh(f"echo {shlex.quote(source)} >/etc/apt/sources.list.d/dadam.list; mv /etc/apt/sources.list /root; apt-get update -q")
    m.sh("DEBIAN_FRONTEND=noninteractive apt-get --option=Dpkg::Options::=--force-confold --assume-yes --quiet install --no-install-recommends "
         + " ".join(node["packages"]))
    for command in node["runcmd"]:
        m.sh(shlex.join(command))
    m.sh("mv /root/sources.list /etc/apt/; rm /etc/apt/sources.list.d/dadam.list")


@test
def a_vm_from_node_yaml_is_an_open_node_with_an_identity_of_its_own(c):
    m = machine()
    old = m.sh("dadamctl status -o json")
    m.sh("apt-get remove -qy dadamctl; apt-get purge -qy dadamd; mkdir -p /var/lib/dadamd; echo baked >/var/lib/dadamd/node-id")
    m.sh("ip link set lo up 2>/dev/null || true")
    apply_vm_file(m)
    check("OPEN" in m.show("StatusText"), m.show("StatusText"))
    new = m.sh("dadamctl status -o json")
    old, new = (json.loads(j)["node"] for j in (old, new))
    check(old["id"] != new["id"] and new["open"] and new["cluster"] == "train", f"{old} {new}")
    check("open: on" in m.sh("cat /etc/dadamd/dadamd.yaml"), "the package kept the configuration")


@test
def purged_under_systemd_the_service_is_stopped_and_nothing_is_left(c):
    m = machine()
    m.sh("apt-get purge -qy dadamd")
    check("dadamd" not in m.sh("ps -e 2>/dev/null || cat /proc/[0-9]*/comm"), "no process")
    left = m.sh("find / -xdev -name '*dadam*' ! -path '/proc/*' ! -path '/root/*' ! -path '/var/lib/dpkg/*' ! -name 'dadamctl*' "
                "! -path '/usr/include/*' ! -path '/usr/share/doc/*' ! -path '*/pkgconfig/*' ! -path '/sys/*'").split()
    check(not left, f"left: {left}")


main()
