#!/usr/bin/env python3
"""A plugin's life outside of the build: dadam is installed, the example of README is built against what was
installed and trains on two daemons of that tree; and plugins that crash, hang, refuse or compute nonsense, in
each of their functions, fail their job with a sentence while the daemons live on."""
import glob
import json
import os
import re
import shlex
import struct
import subprocess

import harness
from harness import BUILD, SANITIZED, check, main, test

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PLUGINS = os.path.join(BUILD, "tests", "plugins")


class Tree:
    """What `meson install` makes, below a directory."""

    def __init__(self, c):
        self.root = os.path.join(c.dir, "root")
        r = subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", self.root], capture_output=True,
                           text=True, timeout=120)
        check(r.returncode == 0, f"meson install: {r.stdout} {r.stderr}")

    def one(self, pattern):
        found = glob.glob(f"{self.root}/**/{pattern}", recursive=True)
        check(len(found) == 1, f"{pattern}: installed as {found}")
        return found[0]

    def pkg_config(self, *args):
        env = {**os.environ, "PKG_CONFIG_PATH": os.path.dirname(self.one("dadam.pc")), "PKG_CONFIG_SYSROOT_DIR": self.root}
        r = subprocess.run(["pkg-config", *args, "dadam"], capture_output=True, text=True, env=env, timeout=20)
        check(r.returncode == 0, f"pkg-config: {r.stderr}")
        return r.stdout.strip(), env


def readme_command(pattern):
    """The one line of README that matches."""
    with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as f:
        found = re.findall(pattern, f.read(), re.MULTILINE)
    check(len(found) == 1, f"README has one {pattern}, not {found}")
    return found[0]


def build_line(c, tree):
    """line.so as README says, in a folder of its own."""
    folder = os.path.join(c.dir, "plugins")
    os.mkdir(folder)
    os.symlink(os.path.join(SOURCE, "deploy"), os.path.join(folder, "deploy"))
    env = tree.pkg_config("--cflags")[1]
    r = subprocess.run(readme_command(r"^cc .*pkg-config.*line\.c$") + " -Wall -Wextra -Werror", shell=True, cwd=folder, env=env, capture_output=True, text=True, timeout=60)
    check(r.returncode == 0, r.stderr)
    return folder


@test
def an_install_has_programs_models_header_and_pkg_config(c):
    tree = Tree(c)
    for program in ("bin/dadamd", "bin/dadamctl", "dadam-worker"):
        check(os.access(tree.one(program), os.X_OK), program)
    for model in ("deepfm", "logreg"):
        tree.one(f"dadam/models/{model}.so")
    header = tree.one("dadam/model.h")
    flags, _ = tree.pkg_config("--cflags")
    check(flags.split() == ["-I" + os.path.dirname(os.path.dirname(header))], f"--cflags: {flags}")
    where, _ = tree.pkg_config("--variable=plugindir")
    check(where.endswith("dadam/models") and not where.endswith("//"), f"plugindir: {where}")
    stray = [f for f in glob.glob(f"{tree.root}/**/*", recursive=True) if f.endswith(".a") or "test" in os.path.basename(f)]
    check(not stray, f"nobody needs {stray}")


def tensors(path):
    with open(path, "rb") as f:
        n, = struct.unpack("<Q", f.read(8))
        head, body = json.loads(f.read(n)), f.read()
    head.pop("__metadata__")
    return {k: struct.unpack(f"<{(b - a) // 4}f", body[a:b]) for k, (a, b) in ((k, v["data_offsets"]) for k, v in head.items())}


@test
def the_example_of_readme_trains_on_two_daemons_of_an_installed_tree(c):
    tree = Tree(c)
    folder = build_line(c, tree)
    before = harness.DADAMD, harness.DADAMCTL
    harness.DADAMD, harness.DADAMCTL = tree.one("bin/dadamd"), tree.one("bin/dadamctl")
    try:
        nodes = c.mesh(2, extra=f"plugins: {{dirs: [{folder}]}}\n")
        spec = os.path.join(SOURCE, "deploy", "examples", "line", "line.yaml")
        r = nodes[0].ctl("submit", spec, "--wait", timeout=60)
        check("DONE" in r.stdout, r.stdout)
        log = nodes[0].ctl("logs", "line").stdout
        check(log.count("link to rank 1 is up") == 1 and " warn " not in log, f"the log of a good job is calm:\n{log}")
        nodes[1].ctl("export", "line", "-o", f"{c.dir}/line")
        a, b = (v for t in tensors(f"{c.dir}/line").values() for v in t)
        check(abs(a - 3) < 0.1 and abs(b + 1) < 0.1, f"y = {a} x + {b}, not 3 x - 1")
        nodes[1].ctl("submit", spec, "--set", "steps=1000000000", "--set", "name=long")
        c.wait(10, lambda: nodes[1].json("show", "long")["jobs"][0]["phase"] == "running", "a long job runs")
        for d in nodes:
            check(os.readlink(f"/proc/{d.workers()[0]}/exe") == tree.one("dadam-worker"), "the worker is the installed one")
        nodes[0].ctl("stop", "long")
        c.wait(10, lambda: not any(d.workers() for d in nodes), "no worker is left")
    finally:
        harness.DADAMD, harness.DADAMCTL = before


@test
def what_readme_tells_to_do_by_hand_works(c):
    d = c.daemon("a")
    command = shlex.split(readme_command("^dadamctl submit .*"), comments=True)
    command[2] = os.path.join(SOURCE, command[2])
    r = d.ctl(*command[1:], "--set", "steps=20", "--set", "data.rows=4096", timeout=60)
    check("DONE" in r.stdout, r.stdout)
    with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as f:
        blocks = re.findall(r"^```yaml\n(.*?)^```$", f.read(), re.MULTILINE | re.DOTALL)
    check(len(blocks) == 3, f"README shows a configuration, a job and the keys of a pipeline job, not {len(blocks)} blocks")
    blocks[2] += "name: pipeline\ndata: {format: idx, train: none}\nsteps: 10\n"
    paths = [os.path.join(c.dir, name) for name in ("dadamd.yaml", "job.yaml", "pipeline.yaml")]
    for path, text in zip(paths, blocks):
        with open(path, "w", encoding="utf-8") as f:
            f.write(text.replace("listen: 10.0.4.11:17326", f"listen: 127.0.0.1:0\nstate: {c.dir}/none"))  # this host's
    r = subprocess.run([harness.DADAMD, "--config", paths[0], "--check-config"], capture_output=True, text=True, timeout=20)
    check(r.returncode == 0, r.stderr)
    for name, path in (("ratings", paths[1]), ("pipeline", paths[2])):
        d.ctl("submit", path)
        job = d.json("show", name)["jobs"][0]
        check(job["phase"] == "waiting" and job["workers"]["min"] == 4, f"README's job waits for four nodes: {job}")


# (plugin, function, words of why); every row on two nodes at once. Sanitizers catch the signal and exit.
CRASH = r"plugin crashed: signal|ended with status" if SANITIZED else r"plugin crashed: signal 11 \(segmentation fault\)"
FAULTS = [("crashing", where, [CRASH]) for where in ("create", "load", "init", "gradient", "evaluate")]
FAULTS += [("refusing", where, ["plugin refusing", where, "refuses on purpose"])
           for where in ("create", "load", "init", "gradient", "evaluate")]
FAULTS += [("hanging", where, [f"plugin hanging: {where}", f"allowed: {limit} s", "timeouts.step"])
           for where, limit in (("gradient", 1), ("evaluate", 10), ("load", 10))]
FAULTS += [("nan", "gradient", ["gradient of tensor rest is not finite at step 0"])]


@test
def whatever_a_plugin_does_its_job_fails_with_a_sentence(c):
    nodes = c.mesh(2, extra=f"plugins: {{dirs: [{PLUGINS}]}}\n")
    path = os.path.join(c.dir, "job.yaml")
    for plugin, where, _ in FAULTS:
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"name: {plugin}-{where}\nmodel: {{plugin: {plugin}, options: {{where: {where}}}}}\ndata: {{format: none}}\n"
                    "algorithm: {name: d-adam, period: 2}\nsteps: 50\nbatch: 4\nworkers: {min: 2, wait: 1m}\n"
                    "evaluate: {every: 10}\ntimeouts: {step: 1s}\n")
        nodes[0].ctl("submit", path)
    for plugin, where, words in FAULTS:
        name = f"{plugin}-{where}"
        r = nodes[1].ctl("watch", name, ok=False, timeout=60)
        j = nodes[1].json("show", name)["jobs"][0]
        check("rank 0" not in j["why"].split(": ", 1)[1], f"the rank is named once: {j['why']}")
        check(r.returncode == 1 and j["phase"] == "failed", f"{name}: exit {r.returncode}, {j['phase']}: {j['why']}")
        check(all(re.search(w, j["why"]) for w in words), f"{name}: {words} not in {j['why']!r}")
        check(nodes[0].json("show", name)["jobs"][0]["phase"] == "failed", f"{name}: both daemons say so")
    c.wait(15, lambda: not any(d.workers() for d in nodes), "no worker is left")
    check(all(d.alive() == 2 for d in nodes), "the daemons live on")


main()
