#!/usr/bin/env python3
"""Pipeline jobs across real daemons: the same bits wherever they run, and nobody hangs."""
import os
import re
import signal

from harness import BUILD, SANITIZED, check, main, test
from jobs_lib import gone, job, model, pid_of_worker, ranks, wait_phase, wait_steps

os.environ["DADAM_PLUGIN_PATH"] = os.path.join(BUILD, "tests", "plugins") + ":" + os.path.join(BUILD, "libcore", "models")
LAYERS = 8


def spec(c, name, algorithm="name: pprs, samples: 3, smoothing: 0.05, learning_rate: 0.5", stages=4, workers=4, steps=50, plugin="quadratic", options="", extra="", batch="6", width=24, layers=LAYERS):
    text = (f"name: {name}\nseed: 5\nmodel: {{plugin: {plugin}, options: {{layers: {layers}, width: {width}{options}}}}}\ndata: {{format: none}}\n"
            f"algorithm: {{{algorithm}}}\nsteps: {steps}\nbatch: {batch}\nstages: {stages}\n"
            f"workers: {{min: {workers}, wait: 1m}}\n{extra}")
    path = os.path.join(c.dir, f"{name}.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def run(c, d, name, **kw):
    """The job's model, as bits."""
    d.ctl("submit", spec(c, name, **kw), "--wait", timeout=60)
    at = next(n for n in c.daemons if n.name in ranks(d, name))
    at.ctl("export", name, "-o", f"{c.dir}/{name}.model")
    return model(f"{c.dir}/{name}.model")


# ---- who has what ----

@test
def the_ranks_of_a_placed_job_are_in_the_order_of_place(c):
    nodes = c.mesh(3)
    first, second = nodes[2].name, nodes[0].name
    nodes[1].ctl("submit", spec(c, "placed", workers=2, extra=f"place: [{first}, {first}, {first}, {second}]\n"), "--wait", timeout=60)
    found = {r["name"]: (r["rank"], [s["stage"] for s in r["stages"]]) for r in job(nodes[1], "placed")["ranks"]}
    check(found == {first: (0, [0, 1, 2]), second: (1, [3])}, f"{found}")
    shown = nodes[1].ctl("show", "placed").stdout
    check("K 3, 1f1b: 12 units an iteration, 6 of them idle (50 %)" in shown and re.search(r"stage 0 +F0 F1 F2 \.", shown), shown)
    chain = nodes[1].ctl("topology", "placed").stdout
    check(re.search(rf"rank 0 +{first} +stages 0-2 +layers 0-\d.*rank 1 +{second} +stage 3 ", chain, re.S), chain)


@test
def a_rank_with_many_stages_shows_the_first_ones_and_its_samples(c):
    d = c.daemon("a")
    d.ctl("submit", spec(c, "many", stages=20, workers=1, layers=20, steps=5), "--wait", timeout=60)
    j = job(d, "many")
    check([s["stage"] for s in j["ranks"][0]["stages"]] == list(range(16)), f"{j['ranks'][0]['stages']}")
    check(j["pipeline"]["samples"] == 3, f"{j['pipeline']}")


# ---- the same bits ----

@test
def four_daemons_give_the_bits_of_one_process_for_every_cut_and_schedule(c):
    nodes = c.mesh(4)
    want = run(c, nodes[0], "one-stage", stages=1, workers=1)
    check(run(c, nodes[1], "one-process", workers=1, extra="cut: [2, 4, 6]\n") == want, "four stages in one worker")
    for i, cut in enumerate(["auto", "[1, 2, 3]", "[1, 5, 7]"]):
        for schedule in ("1f1b", "fill-drain"):
            got = run(c, nodes[i], f"cut{i}-{schedule}", extra=f"cut: {cut}\nschedule: {schedule}\n")
            check(got == want, f"cut {cut}, {schedule}")
    check(run(c, nodes[3], "again", extra="cut: [1, 5, 7]\n") == want, "a second run")


@test
def bf16_activations_give_the_same_bits_in_one_process_and_over_links(c):
    nodes = c.mesh(4)
    bf16 = "wire: {activations: bf16}\ncut: [2, 4, 6]\n"
    want = run(c, nodes[0], "one-process", workers=1, extra=bf16)
    check(run(c, nodes[1], "links", extra=bf16) == want, "bf16 over links")
    check(run(c, nodes[1], "float32", extra="cut: [2, 4, 6]\n") != want, "bf16 rounds")


@test
def theory_full_batches_and_auto_smoothing_are_the_same_anywhere(c):
    nodes = c.mesh(2)
    for name, algorithm in (("theory", "name: pprs, theory: {R: 1, L: 2}"), ("auto", "name: pprs, samples: 2, smoothing: auto, momentum: 0.5, learning_rate: 0.2")):
        kw = {"algorithm": algorithm, "batch": "full", "stages": 2}
        want = run(c, nodes[0], f"{name}-1", workers=1, **kw)
        check(run(c, nodes[1], f"{name}-2", workers=2, **kw) == want, name)


@test
def pprs_without_noise_and_with_one_sample_is_agd(c):
    nodes = c.mesh(2)
    want = run(c, nodes[0], "agd", algorithm="name: agd, learning_rate: 0.5", stages=2, workers=2)
    check(run(c, nodes[1], "pprs", algorithm="name: pprs, samples: 1, smoothing: 0, learning_rate: 0.5", stages=2, workers=2) == want, "K = 1, gamma = 0")
    check(run(c, nodes[1], "gd", algorithm="name: gd, learning_rate: 0.5", stages=2, workers=2) != want, "gd has no momentum")


@test
def the_model_is_evaluated_through_the_pipe_and_told_by_every_daemon(c):
    nodes = c.mesh(3)
    figures = []
    for name, workers in (("one", 1), ("three", 3)):
        nodes[0].ctl("submit", spec(c, name, stages=3, workers=workers, extra="evaluate: {every: 20}\n"), "--wait", timeout=60)
        for d in nodes:
            c.wait(10, lambda d=d: job(d, name)["mean"]["metrics"], f"{d.name} knows the metrics of {name}")
            figures.append(job(d, name)["mean"]["metrics"])
    check(all(f == figures[0] for f in figures), str(figures))
    r = nodes[0].ctl("export", "three", "--take", "local", "-o", f"{c.dir}/local", ok=False)
    check(r.returncode != 0 and "is a pipeline" in r.stderr and "-o FILE.safetensors" in r.stderr, r.stderr)


@test
def a_job_shorter_than_a_window_tells_how_all_its_time_went(c):
    nodes = c.mesh(4)
    nodes[0].ctl("submit", slow(c, steps=6, algorithm="name: agd, learning_rate: 0.5", extra="cut: [2, 4, 6]\n"), "--wait", timeout=60)
    stages = [s for r in job(nodes[0])["ranks"] for s in r["stages"]]
    check(len(stages) == 4 and all(0.02 < s["busy"] < 0.6 for s in stages), str(stages))  # with one sample, one stage works at a time


# ---- data ----

@test
def nodes_whose_files_differ_in_the_order_of_rows_are_refused(c):
    rows = [f"{i % 2},{i},{i * i % 7}\n" for i in range(40)]
    nodes = []
    for name, lines in (("a", rows), ("b", rows[::-1]), ("c", rows)):
        root = os.path.join(c.dir, f"data-{name}")
        os.makedirs(root)
        with open(f"{root}/t.csv", "w", encoding="utf-8") as f:
            f.writelines(["y,u,v\n", *lines])
        nodes.append(c.daemon(name, data=[root], seeds=[nodes[-1].address] if nodes else []))
    c.wait(20, lambda: all(d.alive() == 3 for d in nodes), "three daemons see each other")
    path = os.path.join(c.dir, "job.yaml")
    for place, status in (("[a, c]", 0), ("[a, b]", 1)):
        with open(path, "w", encoding="utf-8") as f:
            f.write("name: job\nmodel: {plugin: mlp, options: {hidden: [4]}}\ndata: {format: csv, train: t.csv, label: y}\n"
                    f"algorithm: {{name: gd, learning_rate: 0.01}}\nstages: 2\nplace: {place}\nworkers: {{min: 2, wait: 1m}}\nbatch: full\nsteps: 3\n")
        r = nodes[0].ctl("submit", path, "--wait", ok=False, timeout=60)
        check(r.returncode == status, f"{place}: exit {r.returncode}: {r.stderr}")
        if status == 0:  # a job that attacks the model compares its file, too
            for d in (nodes[0], nodes[2]):
                c.wait(10, lambda d=d: d.ctl("export", "job", "-o", f"{d.dir}/model", ok=False).returncode == 0, f"{d.name} has the model")
            check(open(f"{nodes[0].dir}/model", "rb").read() == open(f"{nodes[2].dir}/model", "rb").read(), "the files are the same")
    check("the data files of rank 1 are not those of rank 0" in r.stderr, r.stderr)


# ---- ends ----

def slow(c, name="job", delay=10, steps=2000, **kw):
    return spec(c, name, plugin="slow", options=f", delay_ms: {delay}, where: forward", steps=steps, **kw)


@test
def a_killed_stage_fails_the_job_by_name_within_the_link_timeout(c):
    nodes = c.mesh(4)
    nodes[0].ctl("submit", slow(c))
    wait_steps(c, nodes[0], 3)
    victim = next(d for d in nodes if ranks(nodes[0])[d.name]["rank"] == 2)
    os.kill(pid_of_worker(victim), signal.SIGKILL)
    for d in nodes:
        j = wait_phase(c, d, "failed", 3)
        check(f"({victim.name})" in j["why"] or victim.name in j["why"], j["why"])
        c.wait(10, lambda d=d: not d.workers(), f"no worker is left on {d.name}")


@test
def a_stage_that_is_stopped_is_silent_and_fails_the_job_by_name(c):
    nodes = c.mesh(3)
    nodes[0].ctl("submit", slow(c, stages=3, workers=3, extra="timeouts: {link: 2s}\n"))
    wait_steps(c, nodes[0], 3)
    victim = next(d for d in nodes if ranks(nodes[0])[d.name]["rank"] == 1)
    pid = pid_of_worker(victim)
    os.kill(pid, signal.SIGSTOP)
    j = wait_phase(c, nodes[0], "failed", 10)
    check(victim.name in j["why"], j["why"])
    check(re.search(r"the link to stage 1 is lost: .*timeouts\.link", j["why"]), j["why"])
    for d in nodes:
        c.wait(15, lambda d=d: not d.workers(), f"no worker is left on {d.name}")


@test
def a_daemon_that_dies_fails_the_job_and_nobody_hangs(c):
    nodes = c.mesh(3)
    nodes[0].ctl("submit", slow(c, stages=3, workers=3))
    wait_steps(c, nodes[0], 3)
    victim = next(d for d in nodes if ranks(nodes[0])[d.name]["rank"] == 1)
    victim.kill()
    for d in nodes:
        if d is victim:
            continue
        j = wait_phase(c, d, "failed", 15)
        check(victim.name in j["why"], j["why"])
        c.wait(10, lambda d=d: not d.workers(), f"no worker is left on {d.name}")


@test
def stop_ends_all_stages_after_the_same_iteration_with_a_model(c):
    nodes = c.mesh(4)
    nodes[0].ctl("submit", slow(c))
    wait_steps(c, nodes[0], 3)
    nodes[2].ctl("stop", "job")
    j = wait_phase(c, nodes[0], "stopped", 20)
    steps = {r["step"] for r in j["ranks"]}
    check(len(steps) == 1 and 3 <= steps.pop() < 2000, str(j["ranks"]))
    nodes[3].ctl("export", "job", "-o", f"{c.dir}/stopped.model")
    n = os.path.getsize(f"{c.dir}/stopped.model")
    check(n > LAYERS * 24 * 4, f"{n} bytes")


@test
def stop_ends_a_pipeline_of_one_stage(c):
    d = c.daemon("a")
    d.ctl("submit", slow(c, stages=1, workers=1, delay=1, steps=100000))
    wait_steps(c, d, 3)
    d.ctl("stop", "job")
    j = wait_phase(c, d, "stopped", 20)
    check(3 <= j["step"] < 100000, str(j["step"]))
    d.ctl("export", "job", "-o", f"{c.dir}/stopped.model")


@test
def what_a_stage_cannot_do_is_named_with_rank_stage_and_iteration(c):
    nodes = c.mesh(2)
    for name, plugin, options, words in (
            ("nan-back", "nan", ", where: backward, at: 40", r"stage \d: the gradient of tensor .* is not finite in iteration \d+"),
            ("nan-forward", "nan", ", where: forward, at: 9", r"stage 0: what leaves layer layer\d is not finite in iteration 3"),
            ("refuses", "refusing", ", where: backward, at: 7", r"refusing: backward: this plugin refuses on purpose"),
            ("crashes", "crashing", ", where: forward, at: 7", r"crashed"),
            ("no-ability", "idle", "", r"dadam\.stages/1"),
            ("no-layers", "quadratic", ", layers: 0", r"0 layers")):
        text = spec(c, name, plugin=plugin, options=options, stages=2, workers=2, extra="cut: [4]\n")
        if name == "no-layers":
            with open(text, encoding="utf-8") as f:
                found = f.read().replace(f"layers: {LAYERS}, ", "").replace(", layers: 0", "")
            with open(text, "w", encoding="utf-8") as f:
                f.write(found)
        nodes[0].ctl("submit", text)
        j = wait_phase(c, nodes[0], "failed", 20, name)
        check(re.search(words, j["why"]), f"{name}: {j['why']}")
        for d in nodes:
            c.wait(10, lambda d=d: not d.workers(), f"no worker is left on {d.name}")


@test
def a_stage_that_hangs_is_found_by_the_step_timeout(c):
    nodes = c.mesh(2)
    nodes[0].ctl("submit", spec(c, "job", plugin="hanging", options=", where: forward, at: 9", stages=2, workers=2, extra="timeouts: {step: 1s}\n"))
    j = wait_phase(c, nodes[1], "failed", 15)
    check(re.search(r"forward of iteration \d+ has not returned", j["why"]), j["why"])


@test
def more_stages_than_layers_are_refused_by_name(c):
    d = c.daemon("a")
    d.ctl("submit", spec(c, "job", stages=LAYERS + 1, workers=1))
    j = wait_phase(c, d, "failed", 15)
    check(f"{LAYERS}" in j["why"] and f"{LAYERS + 1}" in j["why"], j["why"])


# ---- memory and time ----

def resident(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@test
def the_memory_of_a_stage_is_flat_over_a_thousand_iterations(c):
    nodes = [c.daemon("a", start=False)]
    env = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"}  # freed memory is kept by the sanitizer
    nodes[0].start(env=env)
    nodes.append(c.daemon("b", seeds=[nodes[0].address], start=False).start(env=env))
    c.wait(20, lambda: all(d.alive() == 2 for d in nodes), "two daemons see each other")
    nodes[0].ctl("submit", spec(c, "job", plugin="slow", options=", delay_ms: 0", width=64, batch="16", stages=2, workers=2, steps=4000,
                                     extra="evaluate: {every: 10}\n"))  # an activation has 4 KiB
    wait_steps(c, nodes[0], 300, seconds=60)
    pids = [pid_of_worker(d) for d in nodes]
    before, at = [resident(p) for p in pids], job(nodes[0])["step"]
    c.wait(120, lambda: job(nodes[0])["step"] >= at + 1000, "a thousand iterations more")
    after = [resident(p) for p in pids]
    for a, b in zip(before, after):
        check(b < a + (4 << 20 if SANITIZED else 1 << 20), f"resident before {before}, after {after}")


@test
def stages_work_at_the_same_time(c):
    """The exact clock is measured in tests/bench; one stage after the other would take twice as long as allowed here."""
    nodes = c.mesh(4)
    k, delay, steps = 8, 30, 5
    path = spec(c, "job", plugin="slow", algorithm=f"name: pprs, samples: {k}, smoothing: 0", steps=steps,
                options=f", delay_ms: {delay}, where: forward", extra="cut: [2, 4, 6]\n")
    nodes[0].ctl("submit", path, "--wait", timeout=120)
    one_by_one = k * LAYERS * delay
    wall = min(r["compute_seconds"] + r["wait_seconds"] for r in job(nodes[0])["ranks"]) / steps * 1000
    check(wall < one_by_one * 0.75, f"{wall:.0f} ms an iteration, {one_by_one} ms one stage after the other")


main()
