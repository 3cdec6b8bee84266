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


def save(name, title, lines):
    text = "\n".join([f"## {title}", ""] + lines).rstrip() + "\n"
    with open(os.path.join(DIR, name + ".md"), "w", encoding="utf-8") as f:
        f.write(text)
    print(text)


def in_dir(name):
    return os.path.join(DIR, name)


def spread(values, show):
    """Over the seeds: median (least to greatest); one number when they are shown alike."""
    middle, low, high = show(statistics.median(values)), show(min(values)), show(max(values))
    return middle if low == high else f"{middle} ({low} to {high})"


def four(number):
    return f"{number:.4f}"


def lost_or(show):
    return lambda number: "lost" if math.isinf(number) else show(number)


def sender(row):
    return row["algorithm"] if row["compressor"] == "float32" else f'{row["algorithm"]} {row["compressor"]}'


# ---- bytes ----

def gain(of, by):
    """of / by; 0 where one of them was not reached."""
    return 0 if math.isinf(of) or math.isinf(by) else of / by


def times(number):
    return "-" if number == 0 else f"{number:.0f}x" if number >= 10 else f"{number:.1f}x"


def bytes_line(runs, bases):
    """runs: one sender's, a seed each; bases: seed -> D-Adam float32 p=1."""
    def gained(key):
        return spread([gain(value(bases[r["seed"]], key), value(r, key)) for r in runs], times)

    def shown(key, show):
        return spread([value(r, key) for r in runs], show)
    row = runs[0]
    line = [sender(row), row["period"], "" if row["compressor"].startswith("float32") else row["gamma"],
            len(runs), shown("steps_mean", steps), shown("bytes_mean", mega), shown("wire_mean", mega), gained("bytes_mean"),
            shown("steps_worst", steps), gained("bytes_worst")]
    if any(r["lost"] == "1" for r in runs):
        return line + ["lost", "", "", ""]
    changes = [100 * (value(r, "loss_end") / value(bases[r["seed"]], "loss_end") - 1) for r in runs]
    return line + [shown("loss_end", four), spread(changes, lambda x: f"{x:+.1f} %"), shown("worst_end", four), gained("bytes_end")]


def bytes_table(task, runs):
    bases = {r["seed"]: r for r in runs if r["algorithm"] == "D-Adam" and r["period"] == "1" and r["compressor"] == "float32"}
    base = bases[runs[0]["seed"]]
    by_sender = {}
    for r in runs:
        by_sender.setdefault((sender(r), r["period"], r["gamma"]), []).append(r)
    head = ("sent", "p", "gamma", "seeds", "steps, mean", "MB, mean", "MB after zstd", "factor, mean", "steps, worst", "factor, worst",
            "logloss at the end", "against float32 p=1", "worst worker", "bytes of the whole run")
    targets = ", ".join(dict.fromkeys(b["target"] for b in bases.values()))
    return [f'**{TASKS[task]}**, ring of 8, rate {base["rate"]}, target {targets}, {base["steps_end"]} steps. '
            f'Median of the seeds (least to greatest); where there is one seed, it is {base["seed"]}. MB are 10^6 bytes over one directed edge '
            "until the target is reached by the mean model, or by every worker's; factors against D-Adam float32 p=1 of the same seed.",
            ""] + table(head, [bytes_line(mine, bases) for mine in by_sender.values()]) + [""]


# What the curves show: of all senders these, where they are there.
CURVES = [("D-Adam", "1", "1"), ("D-Adam", "16", "1"), ("CD-Adam int8", "1", "1"), ("CD-Adam int8", "16", "0.5"),
          ("CD-Adam top-k(1%)", "1", "0.05"), ("CD-Adam sign", "1", "0.8"), ("CD-Adam sign", "4", "0.8"),
          ("CD-Adam sign", "16", "0.8"), ("CD-Adam sign", "64", "0.8")]


def bytes_plots(task, runs, curves):
    plot = Plot(f"Bytes and steps to the target: {TASKS[task]}, ring of 8, seed {runs[0]['seed']}", "bytes per directed edge until the target (mean model)",
                "steps until the target", x_log=True, y_log=True)
    periods = ["1", "4", "16", "32", "64"]
    plot.shape_names = ["p = " + p for p in periods]
    for name, gamma in dict.fromkeys((sender(r), r["gamma"]) for r in runs):
        points = [(value(r, "bytes_mean"), value(r, "steps_mean"), periods.index(r["period"])) for r in runs
                  if (sender(r), r["gamma"]) == (name, gamma) and r["steps_mean"] and r["compressor"] != "float32 delta"]
        if points:
            several = len({r["gamma"] for r in runs if sender(r) == name}) > 1
            plot.points(f"{name}, gamma {gamma}" if several else name, points)
    plot.write(in_dir(f"bytes-{task}.svg"), height=460)
    target = value(runs[0], "target")
    plot = Plot(f"Test logloss against bytes: {TASKS[task]}, ring of 8, seed {runs[0]['seed']}", "bytes sent over one directed edge",
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
        save("bytes", "Bytes to the target", out)


# ---- speed-up ----

def best_rate(runs, score):
    """Of the rates that the most seeds ran at the one of the least median score; with its runs, and whether it is at the
    grid's edge."""
    rates = sorted({float(r["rate"]) for r in runs})
    by_rate = {x: [r for r in runs if float(r["rate"]) == x] for x in rates}
    most = max(len(mine) for mine in by_rate.values())
    best = min((x for x in rates if len(by_rate[x]) == most), key=lambda x: (statistics.median(score(r) for r in by_rate[x]), x))
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
           f"(least to greatest) of {len(alone)} seeds at the rate that is best of three on the first; * at the edge of the grid. Bold: "
           "T1/TN, the median over the seeds.",
           f"One worker: {spread([reached(r) for r in alone], steps)} steps at {rate1:g} (the reference: {REFERENCE_T1}).", ""]
    alone = {r["seed"]: reached(r) for r in alone}
    lines = []
    plot = Plot("Speed-up in steps as a share of the linear one: generated clicks, ring", "workers N", "T1 / (N TN), median of the seeds",
                x_log=True, x_ticks=numbers)
    for name, p in dict.fromkeys((r["algorithm"], r["period"]) for r in runs):
        line, points = [name + (" sign" if name.startswith("CD") else ""), p], []
        for n in numbers[1:]:
            rate, best, edge = best_rate([r for r in runs if (r["algorithm"], r["period"], int(r["ranks"])) == (name, p, n)], reached)
            gain = statistics.median(alone.get(r["seed"], math.nan) / reached(r) for r in best)
            known = REFERENCE[name, p][(2, 4, 8, 16).index(n)]
            points += [(n, gain / n)] if gain > 0 else []
            line.append(f"{spread([reached(r) for r in best], steps)} at {rate:g}{'*' if edge else ''}: **{gain:.1f}x** [{known:.1f}x]")
        lines.append(line)
        plot.line(f"{line[0]}, p = {p}", points, dashed=name.startswith("CD"), colour="#000000" if name[0] == "c" else None, marks=True)
    plot.horizontal(1, "linear")
    plot.write(in_dir("speedup.svg"))
    out += table(["algorithm", "p"] + [f"N = {n} [reference]" for n in numbers[1:]], lines)
    save("speedup", "Speed-up", out)


# ---- sparse ----

def at_end(row):
    return math.inf if row["lost"] == "1" else value(row, "loss_end")


def order_at_end(row):
    return math.inf if row["lost"] == "1" else -value(row, "auc_end")


def curve_of(curves, run_filter):
    """Per step the median, least and greatest loss over the seeds, above the seed's target."""
    by_step = {}
    for c in curves:
        if run_filter(c):
            by_step.setdefault(int(c["step"]), []).append(float(c["loss"]) - float(c["target"]))
    return [(s, statistics.median(v), min(v), max(v)) for s, v in sorted(by_step.items())]


def per_rate(grid):
    """At every rate the median over the seeds of the loss at the end."""
    ends = {}
    for r in grid:
        ends.setdefault(float(r["rate"]), []).append(at_end(r))
    return ", ".join(f"{rate:g}: {lost_or(four)(statistics.median(mine))}" for rate, mine in sorted(ends.items()))


def report_sparse():
    runs, curves, out = rows("sparse"), rows("sparse", "curves"), []
    for task, p in sorted({(r["task"], r["period"]) for r in runs}):
        mine, lines, by_label = [r for r in runs if (r["task"], r["period"]) == (task, p)], [], "label" in task
        plot = Plot(f"{TASKS[task]}, ring of 8, p = {p}, best rate each", "steps", "test logloss above the target, mean model")
        for name in dict.fromkeys(sender(r) for r in mine):
            grid = [r for r in mine if sender(r) == name]
            rate, best, edge = best_rate(grid, order_at_end if by_label else at_end)
            shown = [spread([at_end(r) for r in best], lost_or(four))]
            shown += [spread([value(r, key) for r in best], four) for key in ("loss_best", "auc_end")]
            lines.append([name, f"{rate:g}{'*' if edge else ''}"] + shown + [spread([reached(r) for r in best], steps), per_rate(grid)])
            curve = curve_of(curves, lambda c, n=name, x=rate, q=p, k=task: (c["task"], sender(c), c["period"], float(c["rate"])) == (k, n, q, x))
            plot.line(f"{name}, rate {rate:g}", [c[:2] for c in curve], band=[(c[0], c[2], c[3]) for c in curve])
        highest = max(statistics.median([b for _, b in s["line"]]) for s in plot.series)
        lowest = min(b for s in plot.series for _, b, _ in s["band"])
        plot.y_range = (lowest, highest + min(1.2 * (highest - lowest), 0.2))
        plot.horizontal(0, "target")
        plot.write(in_dir(f"sparse-{task}-p{p}.svg"))
        n_seeds = len({r["seed"] for r in mine})
        out += [f"**{TASKS[task]}, p = {p}**, ring of 8, {mine[0]['steps_end']} steps, median (least to greatest) of {n_seeds} "
                f"seeds at the rate whose median {'AUC' if by_label else 'logloss'} at the end is best; * at the edge of the grid.", ""]
        out += table(("algorithm", "rate", "logloss at the end", "least logloss", "AUC at the end", "steps to the target",
                      "median logloss per rate"), lines) + [""]
    if out:
        save("sparse", "Sparse tasks", out)


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
        lines.append((name, DEGREES[name], spread(times, steps), f"{word} {bound}" if bound else "-",
                      "-" if bound is None else "ok" if good else "MISSED", f"{sent:.1f}",
                      four(statistics.median(value(r, "worst_end") for r in mine))))
        if not math.isinf(max(times)):
            drawn.append((name, middle, min(times), max(times), f"{sent:.0f} MB sent per worker"))
    out = [f"D-Adam, N = 16, p = 8, rate 8e-3, target {runs[0]['target']}: first multiple of 25 steps, median (least to greatest) of "
           f"{len({r['batch_seed'] for r in runs})} batch seeds; statement 12.", ""]
    out += table(("topology", "degree", "steps", "statement 12", "verdict", "MB sent per worker", "worst worker then"), lines)
    bars(in_dir("topologies.svg"), "Steps to the target by topology: 16 workers, p = 8", "steps (line: range of the seeds)", drawn)
    save("topologies", "Topologies", out)


# ---- gamma ----

LOST_BY = 0.1  # a worker is lost whose loss is so much above the best gamma's


def tuned_cell(mine):
    """The best gamma for the worst worker, its loss, and from which gamma on a worker is lost."""
    worst = {float(r["gamma"]): float(r["worst_end"]) for r in mine}
    best = min(worst, key=worst.get)
    lost = [g for g, loss in sorted(worst.items()) if g > best and not loss < worst[best] + LOST_BY]
    return f"{best:.3g} ({worst[best]:.3f})" + (f"; lost from {lost[0]:.3g}" if lost else "")


def report_gamma():
    path, out = in_dir("gamma.csv"), []
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            runs = list(csv.DictReader(f))
        places, kinds = (list(dict.fromkeys((r[a], r[b]) for r in runs)) for a, b in (("topology", "ranks"), ("compressor", "n")))
        cell = {(r["topology"], r["ranks"], r["compressor"], r["n"]): r["lagged"] if r["lagged"] == r["fresh"]
                else f"{r['lagged']}, fresh {r['fresh']}" for r in runs}
        out += ["The largest gamma of a grid that is stable in pure gossip (400 rounds, no gradients), both orders.", ""]
        out += table(["compressor", "parameters"] + [" ".join(p) for p in places],
                     [list(k) + [cell.get(p + k, "-") for p in places] for k in kinds]) + [""]
    runs = rows("tuned")
    if runs:
        places = list(dict.fromkeys((r["topology"], r["period"]) for r in runs))
        lines = [[k] + [tuned_cell(mine) if (mine := [r for r in runs if (r["compressor"], r["topology"], r["period"]) == (k, *p)])
                        else "-" for p in places] for k in dict.fromkeys(r["compressor"] for r in runs)]
        out += [f"CD-Adam (lagged) with several gammas, generated clicks, 8 workers, {runs[0]['steps_end']} steps: the gamma whose worst "
                "worker has the least logloss at the end (that logloss), and the least above it with which a worker was lost.", ""]
        out += table(["compressor"] + [f"{t}, p = {p}" for t, p in places], lines)
    if out:
        save("gamma", "Gamma", out)


def main():
    report_bytes()
    report_speedup()
    report_sparse()
    report_topologies()
    report_gamma()


if __name__ == "__main__":
    main()
