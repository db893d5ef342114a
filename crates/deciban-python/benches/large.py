"""How good and how fast `deciban fit` is on many rows, next to LightGBM.

    python large.py --deciban target/release/deciban

The table is made up: 300,000 rows to learn and 60,000 to test, eight numbers and four categories, some cells missing, and
three classes by sums of 60 random trees of three columns each, a wave of one column and a product of two. No model here
has the shape of its sum. Printed are the log loss in nats, the error rate and the seconds of the processors; and the log
loss of the probabilities that drew the classes, which no model can beat.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

import quality

ROWS, TEST, SEED = 360_000, 60_000, 7
NUMBERS, LEVELS, TREES = 8, [3, 5, 8, 20], 60


def tree(random, cells):
    """What a tree of three columns, each cut once, adds to the score of every row."""
    columns = random.choice(cells.shape[1], 3, replace=False)
    says = 0.55 * random.normal(size=8)
    leaf = np.zeros(len(cells), int)
    for bit, column in enumerate(columns):
        x = cells[:, column]
        if column < NUMBERS:
            right = x > np.quantile(x, random.uniform(0.15, 0.85))
        else:
            levels = np.unique(x)
            right = np.isin(x, random.choice(levels, max(1, len(levels) // 2), replace=False))
        leaf += right.astype(int) << bit
    return says[leaf]


def made_up():
    """The table, and the probability of each row's class."""
    random = np.random.default_rng(SEED)
    x = random.normal(size=(ROWS, NUMBERS))
    x[:, 1] = np.exp(x[:, 1])
    x[:, 2] = np.round(3 * np.abs(x[:, 2]))
    x[:, 3] += 0.6 * x[:, 0]
    codes = random.integers(0, LEVELS, size=(ROWS, len(LEVELS)))
    cells = np.column_stack([x, codes])
    scores = np.zeros((ROWS, 3))
    for k in range(3):
        for _ in range(TREES):
            scores[:, k] += tree(random, cells)
        scores[:, k] += 1.2 * np.sin(2 * x[:, k]) + 0.5 * (k - 1) * x[:, 4] * x[:, 5]
    p = np.exp(scores)
    p /= p.sum(1, keepdims=True)
    y = (random.uniform(size=ROWS)[:, None] > p.cumsum(1)).sum(1)
    table = pd.DataFrame(x.round(4), columns=[f"x{i}" for i in range(NUMBERS)])
    for j in range(len(LEVELS)):
        table[f"c{j}"] = np.char.add("l", codes[:, j].astype(str))
    missing = random.uniform(size=(ROWS, 2)) < 0.05
    table.loc[missing[:, 0], "x0"] = np.nan
    table.loc[missing[:, 1], "c3"] = np.nan
    table["y"] = np.array(["a", "b", "c"])[y]
    return table, p[np.arange(ROWS), y]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deciban", default="target/release/deciban")
    args = parser.parse_args()
    table, own = made_up()
    train, test = table[:-TEST], table[-TEST:]
    print(f"the best there is: {-np.log(own[-TEST:]).mean():.4f}")
    for name, fit in (
        ("deciban", lambda: quality.deciban(args.deciban, train, test)),
        ("LightGBM", lambda: quality.peer(quality.lightgbm, train, test)),
    ):
        p, classes, seconds, _, what = fit()
        error, loss = quality.judged(p, classes, test)
        print(f"{name}: {loss:.4f}, {100 * error:.2f} %, {seconds:.0f} s  {what}", flush=True)


if __name__ == "__main__":
    main()
