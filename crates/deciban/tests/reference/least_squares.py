"""Reference values of tests/least_squares.rs: numpy's least squares on iris, its classes as indicators.

Run from this folder with numpy: python least_squares.py > least_squares.json
"""
import json
import sys

import numpy as np

rows = [line.strip().split(",") for line in open("../../../../../shared/data/iris/iris.data") if line.strip()]
x = np.array([[float(v) for v in row[:4]] for row in rows])
classes = sorted({row[4] for row in rows})
y = np.array([[float(row[4] == c) for c in classes] for row in rows])


def fit(w):
    """Weights per class with the intercept last, and R² of each class's indicator."""
    design = np.column_stack([x, np.ones(len(x))])
    root = np.sqrt(w)[:, None]
    b = np.linalg.lstsq(design * root, y * root, rcond=None)[0]
    mean = (w @ y) / w.sum()
    r2 = 1 - (w @ (y - design @ b) ** 2) / (w @ (y - mean) ** 2)
    return {"b": b.T.tolist(), "r2": r2.tolist()}


weights = 1.0 + np.arange(150) % 4
json.dump({"numpy": np.__version__, "plain": fit(np.ones(150)), "weighted": fit(weights)}, sys.stdout, indent=1)
print()
