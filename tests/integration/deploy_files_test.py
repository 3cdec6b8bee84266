#!/usr/bin/env python3
"""The files for virtual machines and Kubernetes: they parse, fit together, say what an open cluster means where they
open one, and dadamd takes the configurations in them. What the VM's file does is carried out in deb_test.py."""
import glob
import os
import re
import shutil
import subprocess

import harness
from harness import check, main, skip, test

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEPLOY = os.path.join(SOURCE, "deploy")


def text(*path):
    with open(os.path.join(DEPLOY, *path), encoding="utf-8") as f:
        return f.read()


def load(*path):
    try:
        import yaml
    except ImportError:
        skip("no YAML for Python: apt-get install python3-yaml")

    class Strict(yaml.SafeLoader):
        """Refuses a key that stands twice in one mapping."""

        def construct_mapping(self, node, deep=False):
            keys = [k.value for k, _ in node.value]
            check(len(set(keys)) == len(keys), f"{path}: a key stands twice: {keys}")
            return super().construct_mapping(node, deep)
    return yaml.load(text(*path), Strict)


def takes(c, config):
    """dadamd's opinion of a configuration."""
    path = os.path.join(c.dir, "dadamd.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(config)
    ask = lambda: subprocess.run([harness.DADAMD, "--config", path, "--check-config"], capture_output=True, text=True, timeout=60)
    r = ask()
    if r.returncode == 71 and "in use" in r.stderr:  # another test's daemon, for a moment, or this machine's own
        try:
            c.wait(20, lambda: ask().returncode != 71, "port 17326")
        except harness.Failure:
            skip("port 17326 is taken on this machine")
        r = ask()
    if r.returncode == 74 and os.geteuid() != 0:
        skip("the state directory is the system's: needs root")
    check(r.returncode == 0 and ": ok " in r.stdout, r.stdout + r.stderr)
    return r.stdout


def says_that_it_is_open(config):
    comment = " ".join(re.findall(r"^\s*#(.*)$", config.split("open: on")[0], re.M))
    check(re.search(r"WHOEVER REACHES PORT 17326 .* CAN JOIN .* START JOBS", " ".join(comment.split())), f"the sentence before `open: on`: {comment}")


@test
def the_vm_file_is_a_node_without_an_identity(c):
    check(text("cloud-init", "node.yaml").startswith("#cloud-config\n"), "the first line says what it is")
    node = load("cloud-init", "node.yaml")
    config = next(f["content"] for f in node["write_files"] if f["path"] == "/etc/dadamd/dadamd.yaml")
    says_that_it_is_open(config)
    check("listen 0.0.0.0:17326" in takes(c, config) and "2 seeds" in takes(c, config), config)
    check(["cloud-init-per", "instance", "dadam-identity", "sh", "-c", "rm -rf /var/lib/dadamd/*"] in node["bootcmd"], "no identity of the image")
    check({"dadamd", "dadamctl"} <= set(node["packages"]), "the packages")
    check(["systemctl", "enable", "--now", "dadamd"] in node["runcmd"], "the service")


@test
def cloud_init_knows_every_key_of_the_vm_file(c):
    if not shutil.which("cloud-init"):
        skip("no cloud-init: apt-get install cloud-init")
    r = subprocess.run(["cloud-init", "schema", "--config-file", os.path.join(DEPLOY, "cloud-init", "node.yaml")], capture_output=True, text=True,
                       timeout=120)
    check(r.returncode == 0, r.stdout + r.stderr)


def objects():
    files = sorted(glob.glob(os.path.join(DEPLOY, "kubernetes", "*.yaml")))
    found = {os.path.basename(f): load("kubernetes", os.path.basename(f)) for f in files}
    kustomization = found.pop("kustomization.yaml")
    check(sorted(kustomization["resources"]) == sorted(found), f"kustomization.yaml names {kustomization['resources']}, there are {sorted(found)}")
    return {o["kind"]: o for o in found.values()}


@test
def the_kubernetes_objects_fit_together(c):
    o = objects()
    pod = o["StatefulSet"]["spec"]["template"]
    node, labels = pod["spec"]["containers"][0], pod["metadata"]["labels"]
    service = o["Service"]["spec"]
    check(service["clusterIP"] == "None" and service["publishNotReadyAddresses"] is True, "headless, for those that are not ready too")
    check(o["StatefulSet"]["spec"]["serviceName"] == o["Service"]["metadata"]["name"], "its service")
    for selector in (service["selector"], o["StatefulSet"]["spec"]["selector"]["matchLabels"], o["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
                     o["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"]):
        check(selector.items() <= labels.items(), f"{selector} does not select {labels}")
    check(o["PodDisruptionBudget"]["spec"]["maxUnavailable"] == 1, "one at a time")
    volumes = {v["name"] for v in pod["spec"]["volumes"]} | {v["metadata"]["name"] for v in o["StatefulSet"]["spec"]["volumeClaimTemplates"]}
    check({m["name"] for m in node["volumeMounts"]} == volumes, f"volumes: {volumes}")
    check("state" in {v["metadata"]["name"] for v in o["StatefulSet"]["spec"]["volumeClaimTemplates"]}, "a state of its own for each pod")
    check({p["name"]: p["containerPort"] for p in node["ports"]}[service["ports"][0]["targetPort"]] == service["ports"][0]["port"] == 17326, "the port")
    check(node["securityContext"]["capabilities"]["drop"] == ["ALL"] and pod["spec"]["securityContext"]["runAsNonRoot"], "no privileges")


@test
def the_configuration_in_kubernetes_is_taken_and_its_seed_is_the_service(c):
    o = objects()
    config = o["ConfigMap"]["data"]["dadamd.yaml"]
    says_that_it_is_open(config)
    out = takes(c, config)
    check("listen 0.0.0.0:17326" in out and "control socket /run/dadamd/ctl.sock" in out and "state /var/lib/dadamd" in out, out)
    import yaml
    check(yaml.safe_load(config)["discovery"]["seeds"] == [o["Service"]["metadata"]["name"]], "the seed is the service's name")
    node = o["StatefulSet"]["spec"]["template"]["spec"]["containers"][0]
    env = {e["name"]: e["value"] for e in node["env"]}
    mounts = {m["name"]: m["mountPath"] for m in node["volumeMounts"]}
    check(env["DADAMD_CONFIG"] == mounts["config"] + "/dadamd.yaml" and env["DADAM_SOCKET"] == mounts["run"] + "/ctl.sock", f"{env} {mounts}")


@test
def the_probes_succeed_with_a_daemon_and_fail_without(c):
    node = objects()["StatefulSet"]["spec"]["template"]["spec"]["containers"][0]
    a = c.daemon("a")
    for end in (0, 1):
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            command = node[probe]["exec"]["command"]
            limit = int(command[command.index("--timeout") + 1].rstrip("s"))
            check(node[probe]["timeoutSeconds"] > limit, f"{probe}: the program's own limit comes first")
            check(command[0] == "dadamctl", f"{probe}: {command}")
            r = subprocess.run([harness.DADAMCTL, *command[1:]], env={**os.environ, "DADAM_SOCKET": a.socket}, capture_output=True, text=True, timeout=60)
            check((r.returncode == 0) == (end == 0), f"{probe}: exit {r.returncode}: {r.stderr}")
        if end == 0:
            a.stop()


@test
def kustomize_builds_the_whole(c):
    if not shutil.which("kubectl"):
        skip("no kubectl here")
    r = subprocess.run(["kubectl", "kustomize", os.path.join(DEPLOY, "kubernetes")], capture_output=True, text=True, timeout=120)
    check(r.returncode == 0, r.stderr)
    kinds = sorted(re.findall(r"^kind: (\w+)$", r.stdout, re.M))
    check(kinds == ["ConfigMap", "NetworkPolicy", "PodDisruptionBudget", "Service", "StatefulSet"], f"{kinds}")


@test
def the_pages_name_only_files_that_are_there(c):
    for folder in ("cloud-init", "kubernetes"):
        page = text(folder, "README.md")
        for name in re.findall(r"\]\(([\w./-]+)\)", page):
            check(os.path.exists(os.path.join(DEPLOY, folder, name)), f"{folder}/README.md: {name}")
        for path in re.findall(r"(?<![\w/])deploy/[\w./-]*\w", page):
            check(os.path.exists(os.path.join(SOURCE, path)) or path.startswith("deploy/docker"), f"{folder}/README.md: {path}")
        check("Not run here" in page, "what is not tested is said")


# ---- manual pages and completion: what --help says, no more and no less ----

VERBS = ["status", "peers", "ls", "submit", "show", "watch", "logs", "stop", "export", "topology", "version", "help"]
OPTION = r"(?<![\w-])--?[A-Za-z][\w-]*"


def help_of(*words, program=harness.DADAMCTL):
    r = subprocess.run([program, *words], capture_output=True, text=True, timeout=60)
    check(r.returncode == 0, f"{words}: {r.stderr}")
    return r.stdout


def options_of(page):
    """Those of the lines that begin with one, and of a first line that shows how to call it."""
    heads = [re.split(r"\s{2,}", line.strip())[0] for line in page.splitlines() if line.startswith("  -")]
    return set(re.findall(OPTION, " ".join([page.splitlines()[0], *heads])))


def flags_in(section):
    """mdoc: `.It Fl o , Fl -output Ar file` -> -o, --output"""
    lines = [line.split() for line in section.splitlines() if line.startswith(".It Fl ")]
    return {"-" + words[i + 1] for words in lines for i, w in enumerate(words) if w == "Fl"}


def items_in(page, heading):
    section = re.search(rf'^\.Sh {heading}$(.*?)(?=^\.Sh )', page, re.M | re.S).group(1)
    return re.findall(r"^\.It (\S+)", section, re.M)


@test
def the_manual_pages_have_the_options_and_exit_statuses_of_the_help(c):
    ctl, daemon = text("man", "dadamctl.1"), text("man", "dadamd.8")
    check(flags_in(ctl.split(".Sh VERBS")[0]) == options_of(help_of("help").split("\noptions\n")[1]), "dadamctl(1): options of every verb")
    sections = dict(re.findall(r"^\.Ss (\w+)(.*?)(?=^\.S[sh] )", ctl, re.M | re.S))
    check(list(sections) == VERBS, f"dadamctl(1) has the verbs {list(sections)}")
    for verb in VERBS:
        check(flags_in(sections[verb]) == options_of(help_of("help", verb)), f"dadamctl(1): {verb}: {flags_in(sections[verb])}")
    check(items_in(ctl, "EXIT STATUS") == re.findall(r"^ +(\d+)  ", help_of("help", "exit"), re.M), "dadamctl(1): exit statuses")
    said = help_of("--help", program=harness.DADAMD)
    check(flags_in(daemon) == options_of(said) >= {"--config", "--check-config"}, f"dadamd(8): {flags_in(daemon)}")
    check(items_in(daemon, "EXIT STATUS") == re.findall(r"[:,] (\d+) ", said.split("exit status")[1]), "dadamd(8): exit statuses")


@test
def the_manual_pages_have_no_fault_that_groff_knows(c):
    if not shutil.which("groff"):
        skip("no groff: apt-get install groff")
    for page in glob.glob(os.path.join(DEPLOY, "man", "*")):
        r = subprocess.run(["groff", "-mandoc", "-Tutf8", "-ww", "-z", page], capture_output=True, text=True, timeout=60)
        check(r.returncode == 0 and not r.stderr, f"{page}: {r.stderr}")


def completed(*line):
    """What bash offers for the last word of the line."""
    script = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _dadamctl; printf "%s\\n" "${COMPREPLY[@]}"'
    r = subprocess.run(["bash", "-u", "-c", script, os.path.join(DEPLOY, "completion", "dadamctl.bash"), harness.DADAMCTL, *line],
                       capture_output=True, text=True, timeout=60)
    check(not r.stderr, r.stderr)
    return r.stdout.split()


@test
def completion_offers_every_verb_and_option_of_the_help(c):
    check(completed("") == VERBS, f"{completed('')}")
    check(completed("s") == ["status", "submit", "show", "stop"], f"{completed('s')}")
    every = options_of(help_of("help").split("\noptions\n")[1])
    for verb in VERBS:
        check(set(completed(verb, "-")) == every | options_of(help_of("help", verb)), f"{verb}: {completed(verb, '-')}")
    check(completed("--socket", "/x", "ls", "--a") == ["--all"], "the value of an option is no verb")
    check(completed("--color", "") == ["auto", "always", "never"] and completed("ls", "-o", "j") == ["json"], "values")
    check(completed("export", "x", "--take", "") == ["mean", "local"], "values of export")
    check(completed("submit", "--set", "") == [], "nobody knows the value of --set")


@test
def completion_asks_the_daemon_for_jobs_and_nodes(c):
    a = c.daemon("node-of-this-test")
    spec = os.path.join(c.dir, "job.yaml")
    with open(spec, "w", encoding="utf-8") as f:
        f.write("model: {plugin: logreg}\ndata: {format: synthetic-ctr, rows: 64}\nsteps: 1\nbatch: 4\nworkers: {min: 9}\n")
    job = a.ctl("submit", spec, "--id-only").stdout[:6]
    for verb in ("show", "watch", "logs", "stop", "export", "topology"):
        check(completed("--socket", a.socket, verb, "") == [job], f"{verb}: {completed('--socket', a.socket, verb, '')}")
    check(completed("--socket", "=", a.socket, "peers", "node") == ["node-of-this-test"], "bash cuts --socket=PATH into three words")
    a.ctl("stop", job)
    check(completed("--socket", a.socket, "stop", "") == [] and completed("--socket", a.socket, "show", "") == [job], "ended jobs are not to be stopped")
    a.stop()
    check(completed("--socket", a.socket, "show", "") == [], "without a daemon there is nothing to offer")


main()
