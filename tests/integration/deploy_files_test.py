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
    r = subprocess.run([harness.DADAMD, "--config", path, "--check-config"], capture_output=True, text=True, timeout=60)
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


main()
