#!/usr/bin/env python3
"""Tables (Markdown) and plots (SVG) of the experiments' runs: report.py DIR

Reads DIR/NAME.runs.csv and DIR/NAME.curves.csv as the program `experiments` wrote them, writes DIR/NAME.md and
DIR/NAME*.svg for each NAME that is there, and prints the tables. Only the standard library is needed."""
import csv
import math
import os
import statistics
import sys

from plot import Plot, bars

DIR = sys.argv[1] if len(sys.argv) > 1 else "."
MEGA = 1e6
TASKS = {"generated": "generated clicks", "frappe": "Frappe", "generated-by-label": "generated clicks, split by label"}
# What the reference (NumPy) found: steps to target with one worker, and T1/TN for N = 2, 4, 8, 16; ring, best rate.
REFERENCE_T1 = 3950
REFERENCE = {("central Adam", "1"): (1.7, 3.7, 7.0, 12.6), ("D-Adam", "1"): (2.0, 3.7, 7.0, 13.2),
             ("D-Adam", "4"): (2.0, 3.7, 6.4, 10.9), ("D-Adam", "8"): (2.0, 3.7, 6.4, 8.8),
             ("D-Adam", "16"): (2.0, 3.6, 6.0, 6.7), ("CD-Adam", "1"): (2.0, 3.7, 6.6, 11.3),
             ("CD-Adam", "8"): (1.9, 3.4, 5.4, 5.6)}
# Statement 12 of the acceptance list: at most, or at least, so many steps.
BOUNDS = {"hypercube": ("at most", 350), "torus": ("at most", 350), "exponential": ("at most", 350),
          "one-peer": ("at most", 425), "ring": ("at most", 500), "star": ("at least", 600)}
DEGREES = {"complete": 15, "hypercube": 4, "torus": 4, "exponential": 7, "random(4)": 4, "one-peer": 1, "ring": 2,
           "path": 1.875, "star": 1.875}


def rows(experiment, kind="runs"):
    path = os.path.join(DIR, f"{experiment}.{kind}.csv")
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as f:
        return list(csv.DictReader(f))


def value(row, key):
    """The number in a cell; infinite when the target was not reached."""
    return float(row[key]) if row[key] else math.inf


def table(head, lines):
    out = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return out + ["| " + " | ".join(str(c) for c in line) + " |" for line in lines]


def mega(number):
    return "not" if math.isinf(number) else f"{number / MEGA:.3g}"


def steps(number):
    return "not" if math.isinf(number) else f"{number:.0f}"


def save(name, lines):
    text = "\n".join(lines) + "\n"
    with open(os.path.join(DIR, name + ".md"), "w", encoding="utf-8") as f:
        f.write(text)
    print(text)


def in_dir(name):
    return os.path.join(DIR, name)


def median_range(values):
    middle = statistics.median(values)
    if min(values) == max(values) or math.isinf(middle):
        return steps(middle)
    return f"{steps(middle)} ({steps(min(values))}-{steps(max(values))})"


def sender(row):
    return row["algorithm"] if row["compressor"] == "float32" else f'{row["algorithm"]} {row["compressor"]}'


# ---- bytes ----

def over_seeds(runs, figure, show):
    """The median of a figure over the seeds, and its range when there are several."""
    values = [figure(r) for r in runs]
    middle = show(statistics.median(values))
    low, high = show(min(values)), show(max(values))
    return middle if low == high else f"{middle} ({low} to {high})"


def gain(of, by):
    """of / by; 0 where one of them was not reached."""
    return 0 if math.isinf(of) or math.isinf(by) else of / by


def times(number):
    return "-" if number == 0 else f"{number:.0f}x" if number >= 10 else f"{number:.1f}x"


def bytes_line(runs, bases):
    """runs: one sender's, a seed each; bases: seed -> D-Adam float32 p=1."""
    def gained(key):
        return over_seeds(runs, lambda r: gain(value(bases[r["seed"]], key), value(r, key)), times)

    def change(row):
        return 100 * (value(row, "loss_end") / value(bases[row["seed"]], "loss_end") - 1)
    row = runs[0]
    line = [sender(row), row["period"], "" if row["compressor"].startswith("float32") else row["gamma"],
            over_seeds(runs, lambda r: value(r, "steps_mean"), steps), over_seeds(runs, lambda r: value(r, "bytes_mean"), mega),
            over_seeds(runs, lambda r: value(r, "wire_mean"), mega), gained("bytes_mean"),
            over_seeds(runs, lambda r: value(r, "steps_worst"), steps), over_seeds(runs, lambda r: value(r, "bytes_worst"), mega),
            gained("bytes_worst")]
    if any(r["lost"] == "1" for r in runs):
        return line + ["lost", "", "", ""]
    return line + [over_seeds(runs, lambda r: value(r, "loss_end"), lambda x: f"{x:.4f}"), over_seeds(runs, change, lambda x: f"{x:+.1f} %"),
                   over_seeds(runs, lambda r: value(r, "worst_end"), lambda x: f"{x:.4f}"), gained("bytes_end")]


def bytes_table(task, runs):
    bases = {r["seed"]: r for r in runs if r["algorithm"] == "D-Adam" and r["period"] == "1" and r["compressor"] == "float32"}
    base = bases[runs[0]["seed"]]
    by_sender = {}
    for r in runs:
        by_sender.setdefault((sender(r), r["period"], r["gamma"]), []).append(r)
    head = ("sent", "p", "gamma", "steps, mean", "MB, mean", "MB after zstd", "factor", "steps, worst", "MB, worst", "factor",
            "logloss at the end", "against float32 p=1", "worst worker", "bytes of the whole run")
    targets = ", ".join(dict.fromkeys(b["target"] for b in bases.values()))
    return [f'**{TASKS[task]}**, ring of 8, rate {base["rate"]}, target {targets}, {base["steps_end"]} steps. Rows with a range: '
            f'median of {len(bases)} seeds (least to greatest); the others: seed {base["seed"]}. MB are 10^6 bytes over one directed edge '
            "until the target is reached by the mean model, or by every worker's; factors against D-Adam float32 p=1 of the same seed.",
            ""] + table(head, [bytes_line(mine, bases) for mine in by_sender.values()]) + [""]


# What the curves show: of all senders these, where they are there.
CURVES = [("D-Adam", "1", "1"), ("D-Adam", "16", "1"), ("CD-Adam int8", "1", "1"), ("CD-Adam int8", "16", "0.5"),
          ("CD-Adam top-k(1%)", "1", "0.05"), ("CD-Adam sign", "1", "0.8"), ("CD-Adam sign", "4", "0.8"),
          ("CD-Adam sign", "16", "0.8"), ("CD-Adam sign", "64", "0.8")]


def bytes_plots(task, runs, curves):
    plot = Plot(f"Bytes and steps to the target: {TASKS[task]}, ring of 8", "bytes per directed edge until the target (mean model)",
                "steps until the target", x_log=True, y_log=True)
    periods = ["1", "4", "16", "32", "64"]
    plot.shape_names = ["p = " + p for p in periods]
    for name, gamma in dict.fromkeys((sender(r), r["gamma"]) for r in runs):
        points = [(value(r, "bytes_mean"), value(r, "steps_mean"), periods.index(r["period"])) for r in runs
                  if (sender(r), r["gamma"]) == (name, gamma) and r["steps_mean"]]
        if points:
            several = len({r["gamma"] for r in runs if sender(r) == name}) > 1
            plot.points(f"{name}, gamma {gamma}" if several else name, points)
    plot.write(in_dir(f"bytes-{task}.svg"), height=460)
    target = value(runs[0], "target")
    plot = Plot(f"Test logloss against bytes: {TASKS[task]}, ring of 8", "bytes sent over one directed edge",
                "test logloss of the mean model", x_log=True)
    for name, p, gamma in CURVES:
        points = [(float(c["bytes"]), float(c["loss"])) for c in curves
                  if (sender(c), c["period"], c["gamma"]) == (name, p, gamma) and float(c["bytes"]) > 0]
        if points:
            plot.line(f"{name}, p = {p}" + (f", gamma {gamma}" if name.startswith("CD") else ""), points)
    losses = [loss for s in plot.series for _, loss in s["line"]]
    if losses:
        plot.y_range = (min(losses), min(max(losses), target + 0.25))
        plot.horizontal(target, "target")
    plot.write(in_dir(f"bytes-{task}-curves.svg"))


def report_bytes():
    runs, curves, out = rows("bytes") + rows("frappe"), rows("bytes", "curves") + rows("frappe", "curves"), []
    for task in dict.fromkeys(r["task"] for r in runs):
        mine = [r for r in runs if r["task"] == task]
        first = mine[0]["seed"]
        out += bytes_table(task, mine)
        bytes_plots(task, [r for r in mine if r["seed"] == first], [c for c in curves if (c["task"], c["seed"]) == (task, first)])
    if out:
        save("bytes", out)


# ---- speed-up ----

def best_rate(runs, score):
    """The rate whose runs (one per seed) have the least median score, with these runs and whether it is at the grid's edge."""
    rates = sorted({float(r["rate"]) for r in runs})
    by_rate = {x: [r for r in runs if float(r["rate"]) == x] for x in rates}
    best = min(rates, key=lambda x: (statistics.median(score(r) for r in by_rate[x]), x))
    return best, by_rate[best], len(rates) > 1 and best in (rates[0], rates[-1])


def reached(row):
    return value(row, "steps_mean")


def report_speedup():
    runs = rows("speedup")
    if not runs:
        return
    numbers = sorted({int(r["ranks"]) for r in runs})
    rate1, alone, _ = best_rate([r for r in runs if r["ranks"] == "1"], reached)
    out = ["Steps until the mean model has test logloss Bayes + 0.08 (generated clicks, ring, 32 rows per worker and step): median "
           f"and range of {len(alone)} seeds at the best rate of three; * best rate at the edge of the grid. Bold: T1/TN, the median "
           "over the seeds.",
           f"One worker: {median_range([reached(r) for r in alone])} steps at {rate1:g} (the reference: {REFERENCE_T1}).", ""]
    alone = {r["seed"]: reached(r) for r in alone}
    lines, plot = [], Plot("Speed-up in steps, generated clicks, ring, best rate each", "workers N", "T1 / TN", True, True,
                           numbers, [1, 2, 4, 8, 16])
    for name, p in dict.fromkeys((r["algorithm"], r["period"]) for r in runs):
        line, points = [name + (" sign" if name.startswith("CD") else ""), p], [(1, 1.0)]
        for n in numbers[1:]:
            rate, best, edge = best_rate([r for r in runs if (r["algorithm"], r["period"], int(r["ranks"])) == (name, p, n)], reached)
            gain = statistics.median(alone.get(r["seed"], math.nan) / reached(r) for r in best)
            known = REFERENCE[name, p][(2, 4, 8, 16).index(n)]
            points += [(n, gain)] if gain > 0 else []
            line.append(f"{median_range([reached(r) for r in best])} at {rate:g}{'*' if edge else ''}: **{gain:.1f}x** [{known:.1f}x]")
        lines.append(line)
        plot.line(f"{line[0]}, p = {p}", points, dashed=name.startswith("CD"), colour="#000000" if name[0] == "c" else None)
    plot.line("linear", [(1, 1), (numbers[-1], numbers[-1])], dashed=True, colour="#bbbbbb")
    plot.write(in_dir("speedup.svg"))
    out += table(["algorithm", "p"] + [f"N = {n} [reference]" for n in numbers[1:]], lines)
    save("speedup", out)


# ---- sparse ----

def at_end(row):
    return math.inf if row["lost"] == "1" else value(row, "loss_end")


def order_at_end(row):
    return math.inf if row["lost"] == "1" else -value(row, "auc_end")


def curve_of(curves, run_filter):
    """Per step the mean, least and greatest loss over the seeds."""
    by_step = {}
    for c in curves:
        if run_filter(c):
            by_step.setdefault(int(c["step"]), []).append(float(c["loss"]))
    return [(s, statistics.mean(v), min(v), max(v)) for s, v in sorted(by_step.items())]


def spread(best, key):
    values = [value(r, key) for r in best]
    return f"{statistics.mean(values):.4f} ({min(values):.4f}-{max(values):.4f})"


def report_sparse():
    runs, curves, out = rows("sparse"), rows("sparse", "curves"), []
    for task, p in sorted({(r["task"], r["period"]) for r in runs}):
        mine, lines, by_label = [r for r in runs if (r["task"], r["period"]) == (task, p)], [], "label" in task
        plot = Plot(f"{TASKS[task]}, ring of 8, p = {p}, best rate each", "steps", "test logloss of the mean model")
        for name in dict.fromkeys(sender(r) for r in mine):
            grid = [r for r in mine if sender(r) == name]
            rate, best, edge = best_rate(grid, order_at_end if by_label else at_end)
            others = ", ".join(f"{x:g}: " + (f"{m:.4f}" if not math.isinf(m) else "lost") for x in sorted({float(r["rate"]) for r in grid})
                               for m in [statistics.median(at_end(r) for r in grid if float(r["rate"]) == x)])
            lines.append((name, f"{rate:g}{'*' if edge else ''}", spread(best, "loss_end"), spread(best, "loss_best"),
                          spread(best, "auc_end"), median_range([reached(r) for r in best]), others))
            curve = curve_of(curves, lambda c, n=name, x=rate, q=p, k=task: (c["task"], sender(c), c["period"], float(c["rate"])) == (k, n, q, x))
            plot.line(f"{name}, rate {rate:g}", [c[:2] for c in curve], band=[(c[0], c[2], c[3]) for c in curve])
        highest = max(statistics.median([b for _, b in s["line"]]) for s in plot.series)
        lowest = min(b for s in plot.series for _, b in s["line"])
        plot.y_range = (lowest, lowest + 2.2 * (highest - lowest) + 0.02)
        plot.write(in_dir(f"sparse-{task}-p{p}.svg"))
        n_seeds = len({r["seed"] for r in mine})
        out += [f"**{TASKS[task]}, p = {p}**, ring of 8, {mine[0]['steps_end']} steps, {n_seeds} seeds: mean (least-greatest); "
                f"best rate by the median {'AUC' if by_label else 'logloss'} at the end; * at the edge of the grid.", ""]
        out += table(("algorithm", "rate", "logloss at the end", "least logloss", "AUC at the end", "steps to the target",
                      "median logloss per rate"), lines) + [""]
    if out:
        save("sparse", out)


# ---- topologies ----

def report_topologies():
    runs = rows("topologies")
    if not runs:
        return
    lines, drawn = [], []
    for name in dict.fromkeys(r["topology"] for r in runs):
        mine = [r for r in runs if r["topology"] == name]
        times = [reached(r) for r in mine]
        middle = statistics.median(times)
        sent = statistics.median(value(r, "bytes_mean") for r in mine) * DEGREES[name] / MEGA
        word, bound = BOUNDS.get(name, ("", None))
        good = bound is None or (all(t <= bound for t in times) if word == "at most" else all(t >= bound for t in times))
        lines.append((name, DEGREES[name], median_range(times), f"{word} {bound}" if bound else "-",
                      "-" if bound is None else "ok" if good else "MISSED", f"{sent:.1f}",
                      f'{statistics.median(value(r, "worst_end") for r in mine):.4f}'))
        if not math.isinf(max(times)):
            drawn.append((name, middle, min(times), max(times), f"{sent:.0f} MB sent per worker"))
    out = [f"D-Adam, N = 16, p = 8, rate 8e-3, target {runs[0]['target']}: first multiple of 25 steps, median and range of "
           f"{len({r['batch_seed'] for r in runs})} batch seeds; statement 12.", ""]
    out += table(("topology", "degree", "steps", "statement 12", "verdict", "MB sent per worker", "worst worker then"), lines)
    bars(in_dir("topologies.svg"), "Steps to the target by topology: 16 workers, p = 8", "steps (line: range of the seeds)", drawn)
    save("topologies", out)


def main():
    report_bytes()
    report_speedup()
    report_sparse()
    report_topologies()


if __name__ == "__main__":
    main()
