"""Small SVG plots with the standard library: lines with bands, points, bars; linear or logarithmic axes.

    plot = Plot("title", "x axis", "y axis", x_log=True)
    plot.line("name", [(x, y), ...], band=[(x, low, high), ...])
    plot.points("name", [(x, y, shape), ...])
    plot.write("file.svg")

Names go into a legend at the right of the plot, so that no text lies over a curve."""
import math
from xml.sax.saxutils import escape

COLOURS = ["#1f4e9c", "#d1495b", "#2a9d6f", "#e08e0b", "#7b4fa3", "#5b5b5b", "#17a2b8", "#8c564b", "#e377c2", "#9aa51e",
           "#000000", "#6fa8ff", "#ff9b85", "#8fd3b6", "#c3a6e0", "#b5b5b5", "#f2c14e", "#0b5345", "#a04000"]
SHAPES = ["circle", "square", "triangle", "diamond", "cross"]
LEFT, TOP, BOTTOM, LINE = 76, 44, 56, 19


def number(x):
    """1500000 -> 1.5M; 0.05 -> 0.05"""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(x) >= size:
            return f"{x / size:g}{letter}"
    return f"{x:g}"


class Axis:
    """From numbers to pixels."""

    def __init__(self, low, high, begin, end, log, ticks=None):
        self.log, self.begin, self.end, self.wanted = log, begin, end, ticks
        if log:
            self.low, self.high = low / 1.15, high * 1.15
        else:
            room = (high - low or abs(high) or 1) * 0.04
            self.low, self.high = low - room, high + room

    def at(self, x):
        low, high = (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)
        share = ((math.log(x) if self.log else x) - low) / (high - low)
        return self.begin + share * (self.end - self.begin)

    def ticks(self):
        if self.wanted:
            return [t for t in self.wanted if self.low <= t <= self.high]
        if not self.log:
            return self.linear_ticks()
        decades = math.log10(self.high / self.low)
        steps = (1,) if decades > 3.5 else (1, 3) if decades > 2 else (1, 2, 5) if decades > 0.9 else (1, 1.5, 2, 3, 4, 5, 6, 8)
        first = math.floor(math.log10(self.low))
        all_ticks = [s * 10.0 ** e for e in range(first, first + int(decades) + 3) for s in steps]
        return [t for t in all_ticks if self.low <= t <= self.high]

    def linear_ticks(self):
        step = 10 ** math.floor(math.log10((self.high - self.low) / 4))
        step *= next(f for f in (1, 2, 5, 10) if (self.high - self.low) / (step * f) <= 7)
        first = math.ceil(self.low / step)
        return [round(i * step, 10) for i in range(first, int(self.high / step) + 1)]


class Plot:
    def __init__(self, title, x_name, y_name, x_log=False, y_log=False, x_ticks=None, y_ticks=None, y_range=None):
        self.title, self.x_name, self.y_name = title, x_name, y_name
        self.x_log, self.y_log, self.x_ticks, self.y_ticks, self.y_range = x_log, y_log, x_ticks, y_ticks, y_range
        self.series, self.shape_names, self.rule = [], [], None

    def line(self, name, points, band=(), dashed=False, colour=None, marks=False):
        self.series.append({"name": name, "line": points, "band": band, "dashed": dashed,
                            "points": [(*xy, 0) for xy in points] if marks else [],
                            "colour": colour or COLOURS[len(self.series) % len(COLOURS)]})

    def points(self, name, points):
        """points: (x, y, shape index), with a thin line through them"""
        self.series.append({"name": name, "line": [], "band": [], "dashed": False, "points": points,
                            "colour": COLOURS[len(self.series) % len(COLOURS)]})

    def horizontal(self, y, name):
        self.rule = (y, name)

    def axes(self, width, height):
        xs = [p[0] for s in self.series for p in s["line"] + s["points"]]
        ys = [p[1] for s in self.series for p in s["line"] + s["points"]]
        if self.rule:
            ys.append(self.rule[0])
        low, high = self.y_range or (min(ys), max(ys))
        return (Axis(min(xs), max(xs), LEFT, LEFT + width, self.x_log, self.x_ticks),
                Axis(low, high, TOP + height, TOP, self.y_log, self.y_ticks))

    def write(self, path, width=560, height=380):
        if not any(s["line"] or s["points"] for s in self.series):
            return
        x, y = self.axes(width, height)
        n_names = len(self.series) + len(self.shape_names) + (2 if self.rule else 0)
        longest = max(len(t) for t in [s["name"] for s in self.series] + self.shape_names + [(self.rule or ("", ""))[1]])
        full = LEFT + width + 62 + 7.3 * longest, TOP + max(height, n_names * LINE + 16) + BOTTOM
        out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{full[0]:.0f}" height="{full[1]:.0f}" '
               'font-family="sans-serif" font-size="13">',
               f'<rect width="{full[0]:.0f}" height="{full[1]:.0f}" fill="white"/>',
               text(LEFT + width / 2, 24, self.title, "middle", 'font-size="15" font-weight="bold"'),
               f'<clipPath id="area"><rect x="{LEFT}" y="{TOP}" width="{width}" height="{height}"/></clipPath>']
        out += self.draw_axes(x, y, width, height)
        out.append('<g clip-path="url(#area)">')
        for s in self.series:
            out += draw_series(s, x, y)
        if self.rule:
            out.append(f'<path d="M{LEFT} {y.at(self.rule[0]):.1f}h{width}" stroke="#888" stroke-dasharray="2 4"/>')
        out.append("</g>")
        out += self.draw_legend(LEFT + width + 18)
        with open(path, "w", encoding="utf-8") as f:
            f.write("\n".join(out + ["</svg>"]) + "\n")

    def draw_axes(self, x, y, width, height):
        out = []
        for t in x.ticks():
            out.append(f'<path d="M{x.at(t):.1f} {TOP}v{height}" stroke="#e4e4e4"/>')
            out.append(text(x.at(t), TOP + height + 18, number(t), "middle"))
        for t in y.ticks():
            out.append(f'<path d="M{LEFT} {y.at(t):.1f}h{width}" stroke="#e4e4e4"/>')
            out.append(text(LEFT - 8, y.at(t) + 4.5, number(t), "end"))
        out.append(f'<rect x="{LEFT}" y="{TOP}" width="{width}" height="{height}" fill="none" stroke="#444"/>')
        out.append(text(LEFT + width / 2, TOP + height + 42, self.x_name, "middle"))
        middle = TOP + height / 2
        out.append(text(20, middle, self.y_name, "middle", f'transform="rotate(-90 20 {middle})"'))
        return out

    def draw_legend(self, left):
        out, top = [], TOP + 12
        for s in self.series:
            if s["line"]:
                dash = ' stroke-dasharray="6 4"' if s["dashed"] else ""
                out.append(f'<path d="M{left} {top}h26" stroke="{s["colour"]}" stroke-width="2.4"{dash}/>')
            else:
                out.append(shape("circle", left + 13, top, s["colour"]))
            out.append(text(left + 34, top + 4.5, s["name"]))
            top += LINE
        if self.rule:
            out.append(f'<path d="M{left} {top}h26" stroke="#888" stroke-dasharray="2 4"/>')
            out.append(text(left + 34, top + 4.5, self.rule[1]))
            top += LINE
        for i, name in enumerate(self.shape_names):
            out.append(shape(SHAPES[i], left + 13, top + 8, "#777"))
            out.append(text(left + 34, top + 12.5, name))
            top += LINE
        return out


def text(x, y, words, anchor="start", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{escape(words)}</text>'


def shape(kind, x, y, colour):
    if kind == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}" stroke="white"/>'
    if kind == "cross":
        return f'<path d="M{x - 5:.1f} {y - 5:.1f}l10 10m0 -10l-10 10" stroke="{colour}" stroke-width="2.5"/>'
    corners = {"square": ((-4.6, -4.6), (4.6, -4.6), (4.6, 4.6), (-4.6, 4.6)), "triangle": ((0, -6), (5.5, 4.5), (-5.5, 4.5)),
               "diamond": ((0, -6.5), (6.5, 0), (0, 6.5), (-6.5, 0))}[kind]
    return '<polygon points="%s" fill="%s" stroke="white"/>' % (" ".join(f"{x + a:.1f},{y + b:.1f}" for a, b in corners), colour)


def draw_series(s, x, y):
    out = []
    if s["band"]:
        there = [f"{x.at(a):.1f},{y.at(low):.1f}" for a, low, _ in s["band"]]
        back = [f"{x.at(a):.1f},{y.at(high):.1f}" for a, _, high in reversed(s["band"])]
        out.append(f'<polygon points="{" ".join(there + back)}" fill="{s["colour"]}" fill-opacity="0.12"/>')
    if s["line"]:
        dash = ' stroke-dasharray="6 4"' if s["dashed"] else ""
        path = " ".join(f"{x.at(a):.1f},{y.at(b):.1f}" for a, b in s["line"])
        out.append(f'<polyline points="{path}" fill="none" stroke="{s["colour"]}" stroke-width="2"{dash}/>')
    elif s["points"]:
        path = " ".join(f"{x.at(a):.1f},{y.at(b):.1f}" for a, b, _ in s["points"])
        out.append(f'<polyline points="{path}" fill="none" stroke="{s["colour"]}" stroke-opacity="0.6"/>')
    out += [shape(SHAPES[k], x.at(a), y.at(b), s["colour"]) for a, b, k in s["points"]]
    return out


def bars(path, title, x_name, rows):
    """rows: (name, value, low, high, note): horizontal bars with a line from low to high; the note at the right."""
    width, left, step = 420, 24 + 8 * max(len(r[0]) for r in rows), 30
    x = Axis(0, max(r[3] for r in rows), left, left + width, False)
    x.low = 0
    full = left + width + 30 + 7.3 * max(len(r[4]) for r in rows), TOP + step * len(rows) + BOTTOM
    end = TOP + step * len(rows)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{full[0]:.0f}" height="{full[1]:.0f}" font-family="sans-serif" '
           'font-size="13">', f'<rect width="{full[0]:.0f}" height="{full[1]:.0f}" fill="white"/>',
           text(full[0] / 2, 24, title, "middle", 'font-size="15" font-weight="bold"')]
    for t in x.ticks():
        out.append(f'<path d="M{x.at(t):.1f} {TOP}V{end}" stroke="#e4e4e4"/>')
        out.append(text(x.at(t), end + 18, number(t), "middle"))
    for i, (name, value, low, high, note) in enumerate(rows):
        y = TOP + step * i + step / 2
        out.append(f'<rect x="{left}" y="{y - 9}" width="{x.at(value) - left:.1f}" height="18" fill="{COLOURS[0]}"/>')
        out.append(f'<path d="M{x.at(low):.1f} {y}H{x.at(high):.1f}M{x.at(low):.1f} {y - 5}v10M{x.at(high):.1f} {y - 5}v10" '
                   f'stroke="{COLOURS[3]}" stroke-width="2.5"/>')
        out.append(text(left - 8, y + 4.5, name, "end"))
        out.append(text(left + width + 12, y + 4.5, note))
    out.append(f'<path d="M{left} {TOP}V{end}H{left + width}" fill="none" stroke="#444"/>')
    out.append(text(left + width / 2, end + 42, x_name, "middle"))
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(out + ["</svg>"]) + "\n")
