"""Additive models by scikit-learn's logistic regression on hand-made indicator columns: additive.json.

Run with scikit-learn 1.9: python additive.py > additive.json
"""

import json

import numpy as np
from sklearn.linear_model import LogisticRegression

DECAY, PAIR = 0.7, 6.0


def draws(seed):
    """The linear congruential generator of the other scripts."""
    state = seed
    while True:
        state = (state * 1103515245 + 12345) % (1 << 31)
        yield state / (1 << 31)


def table(classes):
    """A number of four values, of which one in ten is missing, a category of three levels, and a weight of 1 or 2."""
    draw = draws(2024 + classes)
    rows = []
    for i in range(480):
        x, g, w = i % 4, int(3 * next(draw)), 1 + (i % 5 == 0)
        score = [0.4 * (x == 2) + (0.9 if g == 1 and x >= 2 else 0) + 0.3 * (g == 2), 0.5 * (x == 0) - 0.4 * (g == 0)]
        score = np.array([0, *score[: classes - 1]])
        p = np.exp(score) / np.exp(score).sum()
        y = int(np.searchsorted(np.cumsum(p), next(draw)))
        missing = next(draw) < 0.1
        rows.append((None if missing else x, g, min(y, classes - 1), w))
    return rows


def columns(rows, pairs):
    """Steps of the number, centred over the rows that have one, its missing cells, the levels, and perhaps the pairs."""
    w = np.array([row[3] for row in rows], float)
    x = np.array([np.nan if row[0] is None else row[0] for row in rows])
    g = np.array([row[1] for row in rows])
    known = ~np.isnan(x)
    found = []
    for cut in (0.5, 1.5, 2.5):
        step = (x >= cut).astype(float)
        found.append(np.where(known, step - np.average(step[known], weights=w[known]), 0.0))
    found.append((~known).astype(float))
    found += [(g == level).astype(float) for level in range(3)]
    if pairs:
        # A penalty that is six times as large is a column that is √6 times as small.
        cell = np.where(known, np.nan_to_num(x), 4)
        found += [((cell == a) & (g == b)) / np.sqrt(PAIR) for a in range(5) for b in range(3)]
    return np.column_stack(found), w


cases = []
for classes, pairs in [(2, False), (2, True), (3, False), (3, True)]:
    rows = table(classes)
    X, w = columns(rows, pairs)
    y = np.array([row[2] for row in rows])
    model = LogisticRegression(C=1 / DECAY, solver="newton-cholesky", tol=1e-13, max_iter=1000)
    model.fit(X, y, sample_weight=w)
    penalty = 0.5 * DECAY * (model.coef_**2).sum()
    log_posterior = model.predict_log_proba(X)
    cases.append({
        "classes": classes,
        "pairs": pairs,
        "decay": DECAY,
        "x": [row[0] for row in rows],
        "g": [row[1] for row in rows],
        "y": [row[2] for row in rows],
        "w": [row[3] for row in rows],
        "objective": penalty - (w * log_posterior[np.arange(len(y)), y]).sum(),
        "log_posterior": [[float(f"{v:.12g}") for v in row] for row in log_posterior[:60]],
    })
print(json.dumps(cases))
