#!/usr/bin/env python3
"""CPU time of an iteration of the few-shot job in one real worker, beside its BLAS calls and its noise alone.

    DADAM_BUILD=build-release python3 tests/bench/pipeline_overhead.py

25 rows (5 shots of 5 classes of Fashion-MNIST), hidden [64, 64], K = 10, one stage: the job that bench_mlp knows; its
floor (gemm calls and draws, nothing around them) is taken from there, before and after. The worker's time is user and
system time of the whole process over its iterations, as the kernel counts them. Prints figures, judges nothing."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from harness import BUILD, Cluster
from jobs_lib import job, pid_of_worker

DATA = "/usr/share/datasets/fashion-mnist"
STEPS = 6000
SPEC = f"""name: job
model: {{plugin: mlp, options: {{hidden: [64, 64]}}}}
data: {{format: idx, train: train-images-idx3-ubyte.gz, train_labels: train-labels-idx1-ubyte.gz, classes: [0, 1, 2, 3, 4], shots: 5}}
algorithm: {{name: pprs, samples: 10, smoothing: 0.001, learning_rate: 0.001}}
stages: 1
workers: {{min: 1}}
batch: full
steps: {STEPS}
"""


def floor():
    text = subprocess.run([os.path.join(BUILD, "tests", "bench", "bench_mlp")], capture_output=True, text=True, check=True).stdout
    found = re.search(r"hidden 64 64 .*BLAS calls ([\d.]+), noise ([\d.]+)", text)
    return float(found.group(1)) + float(found.group(2))


def cpu_ms(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def worker():
    cluster = Cluster()
    try:
        node = cluster.daemon("a", data=[DATA])
        path = os.path.join(cluster.dir, "job.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(SPEC)
        node.ctl("submit", path)
        marks = []
        for share in (.1, .9):
            cluster.wait(300, lambda s=share: job(node)["step"] >= STEPS * s, "iterations")
            marks.append((job(node)["step"], cpu_ms(pid_of_worker(node))))
        seconds = job(node)["ranks"][0]["iteration_seconds"]
        return (marks[1][1] - marks[0][1]) / (marks[1][0] - marks[0][0]), seconds * 1000
    finally:
        cluster.end()


def main():
    os.environ["DADAM_PLUGIN_PATH"] = os.path.join(BUILD, "libcore", "models")
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    before = floor()
    cpu, wall = worker()
    after = floor()
    low = (before + after) / 2
    print(f"worker: {cpu:.3f} ms CPU an iteration (wall {wall:.3f}); BLAS calls and noise alone: {before:.3f} and {after:.3f} ms; "
          f"{cpu / low:.2f}x")


main()
