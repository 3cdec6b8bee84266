"""What tests of jobs share: how a job stands, its workers, its exported model."""
import hashlib
import json

from harness import check


def pipeline_clock(c, nodes, depth, samples, seconds, algorithm="pprs", name="clock"):
    """A job whose stages take `seconds` forward and as long backward (plugin slow); the job when it is done, and the
    seconds of an iteration as rank 0 has seen them."""
    rule = {"name": algorithm, **({"samples": samples, "smoothing": .01} if algorithm == "pprs" else {})}
    text = {"name": name, "model": {"plugin": "slow", "options": {"layers": depth, "width": 64, "where": "layers", "delay_ms": round(seconds * 1000)}},
            "data": {"format": "none"}, "algorithm": rule, "steps": max(5, round(2 / (2 * (samples + depth - 1) * seconds))), "batch": 8,
            "stages": depth, "cut": list(range(1, depth)), "workers": {"min": depth, "wait": "1m"}}
    path = f"{c.dir}/{name}.yaml"
    with open(path, "w", encoding="utf-8") as f:
        json.dump(text, f)
    nodes[0].ctl("submit", path, "--wait", timeout=120)
    done = job(nodes[0], name)
    return done, next(r["iteration_seconds"] for r in done["ranks"] if r["rank"] == 0)


def job(d, name="job"):
    return d.json("show", name)["jobs"][0]


def wait_phase(c, d, phase, seconds, name="job"):
    c.wait(seconds, lambda: job(d, name)["phase"] == phase or check(job(d, name)["phase"] not in ("failed", "stopped") or
           phase in ("failed", "stopped"), f"{name} is {job(d, name)['phase']}: {job(d, name)['why']}"), f"{d.name}: {name} is {phase}")
    return job(d, name)


def wait_steps(c, d, least, name="job", seconds=20):
    c.wait(seconds, lambda: job(d, name)["phase"] == "running" and job(d, name)["step"] >= least, f"{name} is at step {least}")


def ranks(d, name="job"):
    return {r["name"]: r for r in job(d, name)["ranks"]}


def pid_of_worker(d):
    pids = d.workers()
    check(len(pids) == 1, f"{d.name} has workers {pids}")
    return pids[0]


def gone(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            return f.read().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


def model(path):
    """Names, shapes and bits of a safetensors file, without its notes."""
    with open(path, "rb") as f:
        n = int.from_bytes(f.read(8), "little")
        head = json.loads(f.read(n))
        head.pop("__metadata__", None)
        return json.dumps(head, sort_keys=True), hashlib.sha256(f.read()).hexdigest()
