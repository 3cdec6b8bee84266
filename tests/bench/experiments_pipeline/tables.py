#!/usr/bin/env python3
"""Tables (Markdown) and plots (SVG) of the pipeline methods' runs: tables.py DIR

Reads DIR/PROBLEM.csv as the program `experiments_pipeline` wrote them, writes DIR/PROBLEM.md, DIR/summary.md and
DIR/PROBLEM-DEPTH.svg, and prints the tables. Only the standard library is needed."""
import csv
import math
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "experiments"))
from plot import Plot  # noqa: E402
from report import gain, table, times  # noqa: E402

DIR = sys.argv[1] if len(sys.argv) > 1 else "."
DEPTHS = (4, 20, 60)
# problem: (what it is, relative gaps to reach)
PROBLEMS = {
    "linf": ("hard max-type function, max_i |a_i x - b_i|, d = 100", (.03, .01)),
    "icnn": ("convex ReLU net of 20 layers, d = 20", (.03, .01)),
    "attack": ("smallest l_inf perturbation of an image, d = 196", (.1, .02)),
    "attack-ball": ("perturbation in an l_inf ball, by projection, d = 196", (.1, .02)),
    "fewshot-7": ("few shots, ReLU net of 7 layers, d = 11 914", (.1, .03)),
    "fewshot-20": ("few shots, ReLU net of 20 layers, d = 8 218", (.5, .1)),
}


class Run:
    """One seed's least values so far, as relative gaps, at iterations `marks`."""

    def __init__(self, row, marks):
        self.method, self.samples, self.rate, self.gamma = row[1], int(row[2]), float(row[3]), float(row[4])
        self.seed, self.start, self.least = row[5], float(row[6]), float(row[7])
        self.values = [float(v) for v in row[8:]]
        self.marks = marks[:len(self.values)]

    def curve(self, depth, budget):
        """(time, gap) pairs up to the budget."""
        tick = 2 * (self.samples + depth - 1)
        return [(m * tick, (v - self.least) / (self.start - self.least)) for m, v in zip(self.marks, self.values) if m * tick <= budget]


def read(problem):
    path = os.path.join(DIR, problem + ".csv")
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as f:
        lines = list(csv.reader(f))
    marks = [int(m) for m in lines[0][8:]]
    runs = [Run(line, marks) for line in lines[1:]]
    for seed in {r.seed for r in runs if math.isnan(r.least)}:  # the least that any run of this seed has found
        mine = [r for r in runs if r.seed == seed]
        least = min(r.values[-1] for r in mine)
        for r in mine:
            r.least = least
    return runs


class Setting:
    """A method's runs, one per seed, at one rate (and gamma), with the time of a depth."""

    def __init__(self, runs, depth, budget, gap):
        self.rate, self.gamma, self.runs = runs[0].rate, runs[0].gamma, runs
        self.edge = False
        curves = [r.curve(depth, budget) for r in runs]
        times = [next((t for t, g in c if g <= gap), math.inf) for c in curves]
        self.time, self.stuck = statistics.median(times), sum(map(math.isinf, times))
        self.end = statistics.median(c[-1][1] if c else 1 for c in curves)
        self.order = (self.time, self.stuck, self.end)

    def said(self):
        time = "not" if math.isinf(self.time) else thousands(self.time)
        stuck = f", {100 * self.stuck / len(self.runs):.0f} % stuck" if self.stuck else ""
        return f"{time}{stuck}"

    def at(self):
        return f"{self.rate:g}" + (f", {self.gamma:g}" if self.gamma else "") + ("*" if self.edge else "")


def thousands(ticks):
    return f"{ticks:.0f}" if ticks < 1e3 else f"{ticks / 1e3:.1f}k" if ticks < 1e5 else f"{ticks / 1e3:.0f}k"


def name_of(key):
    method, samples = key
    return method.upper() if method in ("gd", "agd") else "Adam" if method == "adam" else f"PPRS K={samples}"


def best_settings(runs, depth, budget, gap):
    """(method, K) -> its best setting for that gap and depth."""
    by_setting = {}
    for r in runs:
        by_setting.setdefault((r.method, r.samples, r.rate, r.gamma), []).append(r)
    best = {}
    for key, mine in by_setting.items():
        s = Setting(mine, depth, budget, gap)
        if key[:2] not in best or s.order < best[key[:2]].order:
            best[key[:2]] = s
    for key, s in best.items():
        for mine, grid in ((s.rate, {k[2] for k in by_setting if k[:2] == key}), (s.gamma, {k[3] for k in by_setting if k[:2] == key})):
            s.edge |= len(grid) > 1 and mine in (min(grid), max(grid))
    return best


def budget_of(runs, depth):
    return 2 * depth * max(r.marks[-1] for r in runs if r.method == "gd")


def plot(problem, depth, best, budget, gap):
    p = Plot(f"{PROBLEMS[problem][0]}, depth {depth}", "pipeline time", "relative gap, median of the seeds", x_log=True, y_log=True)
    for key, s in best.items():
        curves = [r.curve(depth, budget) for r in s.runs]
        points = [(t, max(statistics.median(c[i][1] for c in curves), 1e-4)) for i, (t, _) in enumerate(min(curves, key=len))]
        if points:
            p.line(f"{name_of(key)}, {s.at()}", points, dashed=key == ("pprs", 1), colour={"agd": "#000000", "gd": "#b5b5b5"}.get(key[0]))
    p.horizontal(gap, f"{100 * gap:g} %")
    p.write(os.path.join(DIR, f"{problem}-{depth}.svg"))


def summary_line(problem, depth, gap, best):
    many = {k: s for k, s in best.items() if k[0] == "pprs" and k[1] > 1}
    if not many:
        return None
    key = min(many, key=lambda k: many[k].order)
    others = [best.get(k) for k in (("gd", 1), ("agd", 1), ("pprs", 1), ("adam", 1))]
    return [problem, f"{100 * gap:g} %", depth, name_of(key), many[key].said()] + [
        "-" if s is None else s.said() + (f" ({times(gain(s.time, many[key].time))})" if not math.isinf(s.time + many[key].time) else "")
        for s in others]


def report(problem, summary):
    runs = read(problem)
    if not runs:
        return []
    seeds = len({r.seed for r in runs})
    what, gaps = PROBLEMS[problem]
    budgets = {d: budget_of(runs, d) for d in DEPTHS}
    out = [f"### {problem}: {what}", "", f"{seeds} seeds; the time of {budgets[1 * DEPTHS[0]] // (2 * DEPTHS[0])} iterations of GD at each depth: "
           + ", ".join(thousands(b) for b in budgets.values()) + ". Cells: median time, share of the seeds that are stuck, (rate, gamma; * one at the edge of its grid).", ""]
    ends = {}
    for gap in gaps:
        best = {d: best_settings(runs, d, budgets[d], gap) for d in DEPTHS}
        out += table([f"to {100 * gap:g} %"] + [f"depth {d}" for d in DEPTHS],
                     [[name_of(k)] + [f"{best[d][k].said()} ({best[d][k].at()})" for d in DEPTHS] for k in best[DEPTHS[0]]]) + [""]
        for d in DEPTHS:
            summary.append(summary_line(problem, d, gap, best[d]))
            if gap == gaps[-1]:
                plot(problem, d, best[d], budgets[d], gap)
            for k, s in best_settings(runs, d, budgets[d], 0).items():  # nobody reaches 0: ordered by the end
                ends[k, d] = s
    keys = dict.fromkeys(k for k, _ in ends)
    out += table(["median gap at the end"] + [f"depth {d}" for d in DEPTHS],
                 [[name_of(k)] + [f"{100 * ends[k, d].end:.2g} % ({ends[k, d].at()})" for d in DEPTHS] for k in keys]) + [""]
    return out


def main():
    summary, out = [], []
    for problem in PROBLEMS:
        lines = report(problem, summary)
        if lines:
            out += lines
            with open(os.path.join(DIR, problem + ".md"), "w", encoding="utf-8") as f:
                f.write("\n".join(lines) + "\n")
    head = table(["problem", "gap", "depth", "best PPRS, K >= 2", "its time", "GD", "AGD", "control: PPRS K=1", "Adam"], [s for s in summary if s])
    head += ["", "In brackets: how many times as long as the best PPRS.", ""]
    with open(os.path.join(DIR, "summary.md"), "w", encoding="utf-8") as f:
        f.write("\n".join(head) + "\n")
    print("\n".join(head + out))


if __name__ == "__main__":
    main()
