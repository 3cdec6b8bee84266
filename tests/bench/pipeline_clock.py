#!/usr/bin/env python3
"""Seconds of a pipeline's iteration on loopback beside 2 (K + depth - 1) s, for stages that sleep s each way.

    DADAM_BUILD=build-release python3 tests/bench/pipeline_clock.py [seconds]

Depth 2, 4, 8 (one daemon each) times K = 1, 4, 16. Prints a table; exit status 1 when a row is more than 10 % off."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from harness import BUILD, Cluster
from jobs_lib import pipeline_clock

os.environ["DADAM_PLUGIN_PATH"] = os.path.join(BUILD, "tests", "plugins")


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else .020
    worst = 0
    print("| depth | K | formula, ms | measured, ms | off |\n|---|---|---|---|---|")
    for depth in (2, 4, 8):
        cluster = Cluster()
        try:
            nodes = cluster.mesh(depth)
            for k in (1, 4, 16):
                _, got = pipeline_clock(cluster, nodes, depth, k, seconds, name=f"clock-{depth}-{k}")
                want = 2 * (k + depth - 1) * seconds
                worst = max(worst, abs(got / want - 1))
                print(f"| {depth} | {k} | {want * 1e3:.0f} | {got * 1e3:.1f} | {100 * (got / want - 1):+.1f} % |", flush=True)
        finally:
            cluster.end()
    return 0 if worst <= .1 else 1


if __name__ == "__main__":
    sys.exit(main())
