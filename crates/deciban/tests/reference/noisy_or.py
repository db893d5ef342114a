"""Reference values of tests/noisy_or.rs: the noisy-OR weights by scipy's bounded optimiser.

Run from this folder with scipy and numpy: python noisy_or.py > noisy_or.json
"""
import json
import sys

import numpy as np
import scipy
from scipy.optimize import minimize

# The same table as in the test: three flags and a count, of which the third flag is no cause.
ROWS = 900


def table():
    state, x, y = 12345, [], []

    def draw():
        nonlocal state
        state = (state * 1103515245 + 12345) % 2**31
        return state / 2**31

    for _ in range(ROWS):
        row = [float(draw() < 0.4), float(draw() < 0.3), float(draw() < 0.5), float(int(4 * draw()))]
        rate = 0.1 + 0.9 * row[0] + 0.3 * row[1] + 0.2 * row[3]
        x.append(row)
        y.append(draw() < 1 - np.exp(-rate) if row[2] == 0 else draw() < 1 - np.exp(-0.7 * rate))
    return np.array(x), np.array(y)


def fit(x, y, a):
    x = np.column_stack([x, np.ones(len(x))])
    penalty = np.array([a] * (x.shape[1] - 1) + [0.0])

    def objective(theta):
        r = x @ theta
        odds = 1 / np.expm1(r[y])
        value = r[~y].sum() - np.log(-np.expm1(-r[y])).sum() + penalty @ theta
        return value, x[~y].sum(0) - odds @ x[y] + penalty

    start = np.full(x.shape[1], 0.2)
    bounds = [(0, None)] * (x.shape[1] - 1) + [(1e-9, None)]
    first = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-16, "gtol": 1e-10, "maxiter": 10000})
    # The free weights once more by Newton's method, where the bounded optimiser's tolerance ends.
    theta, free = first.x.copy(), first.x > 1e-6
    theta[~free] = 0
    for _ in range(20):
        r = x @ theta
        odds = 1 / np.expm1(r[y])
        g = x[~y].sum(0) - odds @ x[y] + penalty
        h = (x[y] * (odds * (1 + odds))[:, None]).T @ x[y]
        theta[free] -= np.linalg.solve(h[np.ix_(free, free)], g[free])
    assert (g[~free] > 0).all() and np.abs(g[free]).max() < 1e-9
    return {"pseudo_count": a, "theta": theta.tolist(), "objective": objective(theta)[0]}


x, y = table()
out = {"scipy": scipy.__version__, "effects": int(y.sum()), "fits": [fit(x, y, a) for a in (0.0, 1.0, 10.0)]}
json.dump(out, sys.stdout, indent=1)
print()
