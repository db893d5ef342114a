"""Time over rows and columns, beside scikit-learn, as a figure with logarithmic axes.

    python benches/growth.py FIGURE.svg

Fits of GaussianNB, QDA and logistic regression of two classes: 20 columns and 10^3 to 10^7 rows, then 10,000 rows and
2 to 1,000 columns. Both sides run in turn after a pause, and the best of three runs counts; where one run takes more
than 20 seconds, that is the last point of its line. The figure is plain SVG, and the numbers are printed.
"""

import math
import sys
import time
import warnings

import numpy as np
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import deciban.sklearn as ours

RUNS, PAUSE, LONG = 3, 0.1, 20.0
PEERS = {"GaussianNB": GaussianNB, "QuadraticDiscriminantAnalysis": QuadraticDiscriminantAnalysis, "LogisticRegression": LogisticRegression}
SHORT = {"GaussianNB": "GaussianNB", "QuadraticDiscriminantAnalysis": "QDA", "LogisticRegression": "logistic"}
COLOURS = {"GaussianNB": "#0072b2", "QuadraticDiscriminantAnalysis": "#d55e00", "LogisticRegression": "#009e73"}
PANELS = [
    ("rows (20 columns)", [(n, 20) for n in (1_000, 10_000, 100_000, 1_000_000, 10_000_000)], 0),
    ("columns (10,000 rows)", [(10_000, d) for d in (2, 10, 50, 200, 1_000)], 1),
]


def numbers(rows, columns):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, rows)
    X = rng.standard_normal((rows, columns))
    X[y == 1] += 0.3
    return X, y


def seconds(model, X, y):
    taken = []
    for _ in range(RUNS):
        time.sleep(PAUSE)
        start = time.perf_counter()
        model.fit(X, y)
        taken.append(time.perf_counter() - start)
        if taken[-1] > LONG / 4:
            break
    return min(taken)


def measured(sizes, axis):
    """The points of each line: (library, class) to a list of sizes and seconds."""
    lines = {}
    for size in sizes:
        X, y = numbers(*size)
        for name, peer in PEERS.items():
            for library, model in (("deciban", getattr(ours, name)()), ("scikit-learn", peer())):
                points = lines.setdefault((library, name), [])
                if points and points[-1][1] > LONG / 10:
                    continue  # Ten times as much would take too long.
                points.append((size[axis], seconds(model, X, y)))
                print(f"{name:32} {size[0]:>10,} x {size[1]:<5} {library:14} {points[-1][1]:10.4f} s", flush=True)
    return lines


def figure(panels):
    """The SVG of some panels, each a title and its lines."""
    width, height, left, top = 340, 300, 62, 40
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{len(panels) * (width + left) + 20}" height="{height + top + 86}" font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    times = [t for _, lines in panels for points in lines.values() for _, t in points]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    for i, (title, lines) in enumerate(panels):
        x0 = left + i * (width + left)
        sizes = [n for points in lines.values() for n, _ in points]
        a, b = math.log10(min(sizes)), math.log10(max(sizes))
        x = lambda n: x0 + (math.log10(n) - a) / (b - a) * width  # noqa: B023, E731
        y = lambda t: top + (high - math.log10(t)) / (high - low) * height  # noqa: E731
        for power in range(low, high + 1):
            out.append(f'<path d="M{x0} {y(10.0**power):.1f}h{width}" stroke="#ddd"/>')
            label = f"{10.0**power:g} s" if power > -3 else f"{10.0 ** (power + 3):g} ms"
            out.append(f'<text x="{x0 - 6}" y="{y(10.0**power) + 4:.1f}" text-anchor="end">{label}</text>')
        for power in range(math.ceil(a), math.floor(b) + 1):
            out.append(f'<path d="M{x(10**power):.1f} {top}v{height}" stroke="#ddd"/>')
            out.append(f'<text x="{x(10**power):.1f}" y="{top + height + 18}" text-anchor="middle">{10**power:,}</text>')
        for (library, name), points in lines.items():
            path = "M" + "L".join(f"{x(n):.1f} {y(t):.1f}" for n, t in points)
            dash = "" if library == "deciban" else ' stroke-dasharray="5 4"'
            out.append(f'<path d="{path}" fill="none" stroke="{COLOURS[name]}" stroke-width="2"{dash}/>')
            marks = "".join(f'<circle cx="{x(n):.1f}" cy="{y(t):.1f}" r="3"/>' for n, t in points)
            out.append(f'<g fill="{COLOURS[name]}">{marks}</g>')
        out.append(f'<text x="{x0 + width / 2}" y="{top + height + 38}" text-anchor="middle">{title}</text>')
    out.append(f'<text x="{left}" y="22" font-size="14">Time of a fit: deciban (lines) and scikit-learn (dashes)</text>')
    for i, (name, colour) in enumerate(COLOURS.items()):
        x0, y0 = left + 130 * i, top + height + 66
        out.append(f'<path d="M{x0} {y0 - 4}h24" stroke="{colour}" stroke-width="2"/><text x="{x0 + 30}" y="{y0}">{SHORT[name]}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    panels = [(title, measured(sizes, axis)) for title, sizes, axis in PANELS]
    with open(sys.argv[1], "w") as file:
        file.write(figure(panels))
