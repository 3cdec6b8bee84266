#!/usr/bin/env python3
"""The closing mean across real daemons: whoever dies at the end or cannot save, the others have one mean, or say why not."""
import glob
import os
import signal

from harness import BUILD, check, main, test
from jobs_lib import job, model, pid_of_worker, ranks, wait_phase, wait_steps

os.environ["DADAM_PLUGIN_PATH"] = os.path.join(BUILD, "tests", "plugins")


def spec(c, name, n=4, steps=40, params=50000, extra="", plugin="slow", delay=5):
    path = os.path.join(c.dir, f"{name}.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"name: {name}\nmodel: {{plugin: {plugin}, options: {{params: {params}, delay_ms: {delay}}}}}\ndata: {{format: none}}\n"
                f"algorithm: {{name: d-adam, period: 5}}\nsteps: {steps}\nbatch: 4\nworkers: {{min: {n}, wait: 1m}}\nfinish: average\n{extra}")
    return path


def folder(c, d, name):
    """Where the job's files are on this node, once they are."""
    return c.wait(20, lambda: [f for f in glob.glob(os.path.join(d.state, "jobs", job(d, name)["id"] + "*")) if os.path.isdir(f)],
                  f"{d.name}: a folder of {name}")[0]


def same_mean(nodes, name):
    """Every one of these nodes has the mean, and all have the same bits; also as their own model (finish: average)."""
    models = set()
    for d in nodes:
        for take in ("mean", "local"):
            path = f"{d.dir}/{name}.{take}"
            d.ctl("export", name, "--take", take, "-o", path)
            models.add(model(path))
    check(len(models) == 1, f"{name}: {len(models)} different models on {[d.name for d in nodes]}")


@test
def all_have_the_same_mean_and_show_says_of_how_many(c):
    nodes = c.mesh(4)
    nodes[0].ctl("submit", spec(c, "job"), "--wait", timeout=60)
    for d in nodes:
        j = wait_phase(c, d, "done", 10)
        check(all(r["state"] == "done" and r["mean_of"] == 4 and not r["why"] for r in j["ranks"]), str(j["ranks"]))
    same_mean(nodes, "job")


@test
def a_rank_that_cannot_save_takes_the_mean_from_nobody(c):
    nodes = c.mesh(4)
    for k, victim in enumerate((nodes[0], nodes[2])):
        name = f"job{k}"
        others = [d for d in nodes if d is not victim]
        nodes[0].ctl("submit", spec(c, name, steps=300, delay=10))
        wait_steps(c, victim, 5, name)
        place = folder(c, victim, name)
        os.rename(place, place + ".away")
        with open(place, "w", encoding="ascii"):  # or the daemon would make it anew, for its log
            pass
        for d in others:
            j = wait_phase(c, d, "done", 30, name)
        mine = ranks(others[0], name)[victim.name]
        check(mine["state"] == "lost" and "safetensors" in mine["why"], str(mine))
        check(j["mean"]["ranks"] == 4, f"mean of {j['mean']['ranks']}: the victim's model is in it")
        check(all(ranks(others[0], name)[d.name]["mean_of"] == 4 for d in others), str(ranks(others[0], name)))
        same_mean(others, name)
        os.unlink(place)
        os.rename(place + ".away", place)
        refused = victim.ctl("export", name, "-o", f"{c.dir}/none", ok=False)
        hint = refused.stderr.split("ask a node whose rank saved one: ")[-1]
        check(refused.returncode != 0 and hint.split("\n")[0].strip() == ", ".join(d.name for d in others), refused.stderr)
        c.wait(20, lambda v=victim: not v.workers(), f"{victim.name}: its worker has ended")


def kill_worker(d):
    for pid in d.workers():
        os.kill(pid, signal.SIGKILL)


@test
def kills_at_the_end_take_the_mean_from_nobody_else(c):
    """When the victim has trained; when the first mean is on a disk; when the victim's own is."""
    nodes = c.mesh(4)
    k = 0
    for moment in ("trained", "first", "own"):
        for die in (kill_worker, lambda d: d.kill()):
            name, victim = f"job{k}", nodes[1 + k % 3]
            others = [d for d in nodes if d is not victim]
            k += 1
            nodes[0].ctl("submit", spec(c, name, params=200000))
            c.wait(20, lambda v=victim, n=name: any(j["name"] == n for j in v.json("ls", "-a")["jobs"]), f"{victim.name} knows {name}")
            files = [f"{folder(c, d, name)}/mean.safetensors" for d in ([victim] if moment == "own" else nodes)]
            ready = {"trained": lambda v=victim, n=name: ranks(v, n)[v.name]["state"] in ("trained", "done"),
                     "first": lambda f=files: any(map(os.path.exists, f)), "own": lambda f=files: any(map(os.path.exists, f))}[moment]
            c.wait(30, ready, f"{name}: the moment ({moment})", every=0.002)
            die(victim)
            for d in others:
                wait_phase(c, d, "done", 40, name)
            check(all(r["mean_of"] for n, r in ranks(others[0], name).items() if n != victim.name), str(ranks(others[0], name)))
            same_mean(others, name)
            if not victim.running():
                victim.start()
                c.wait(20, lambda: all(d.alive() == 4 for d in nodes), "all back")
            for d in nodes:
                c.wait(20, lambda d=d: not d.workers(), f"{d.name}: no worker is left of {name}")


@test
def who_is_cut_off_from_the_mean_says_so(c):
    nodes = c.mesh(3)
    nodes[0].ctl("submit", spec(c, "job", n=3, steps=400, delay=10, extra="topology: {edges: [[0, 1], [1, 2]]}\n"))
    wait_steps(c, nodes[0], 10)
    order = {r["rank"]: d for d in nodes for r in job(nodes[0])["ranks"] if r["name"] == d.name}
    os.kill(pid_of_worker(order[1]), signal.SIGKILL)
    for d in nodes:
        j = wait_phase(c, d, "done", 60)
        mine = next(r for r in j["ranks"] if r["rank"] == 2)
        check(mine["state"] == "done" and mine["mean_of"] is None and mine["why"].startswith("without the mean: "), str(mine))
        check("rank 2 (" in j["why"] and "ended without the mean: " in j["why"], j["why"])
        check("ended without the mean: " in d.ctl("ls", "-a").stdout, "ls says it too")
    check("stays for rank 2, still without it" in order[0].ctl("logs", "job").stdout, "rank 0 says for whom it waits")
    order[2].ctl("export", "job", "--take", "local", "-o", f"{c.dir}/local")
    refused = order[2].ctl("export", "job", "-o", f"{c.dir}/none", ok=False)
    check("without the mean: " in refused.stderr and f"saved one: {order[0].name}\n" in refused.stderr + "\n", refused.stderr)


main()
