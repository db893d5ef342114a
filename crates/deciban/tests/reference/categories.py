"""Reference values of tests/categories.rs: statsmodels' regression table of a category coded against its most frequent
level, where all cells are known (`dummies`) and where some are missing (`missing`, and for three classes `softmax`).

Run from this folder with statsmodels and numpy: python categories.py > categories.json
"""
import json
import sys

import numpy as np
import statsmodels
import statsmodels.api as sm

state = 2024


def draw():
    global state
    state = (state * 1_103_515_245 + 12_345) % (1 << 31)
    return state / (1 << 31)


rows = []
for _ in range(600):
    history, region = int(draw() < 0.6), int(3 * draw() ** 1.5)  # 0 Present, 1 Absent; 0, 1, 2
    if draw() < 0.1:
        region = None
    x = 4 * draw() - 2
    z = -0.7 + 0.5 * x + 0.9 * (history == 0) + [0.0, 0.8, -0.6, 0.3][3 if region is None else region]
    first = draw() < 1 / (1 + np.exp(-z))
    rows.append((history, region, x, int(first), int(first) + int(draw() < 0.3)))
history = np.array([row[0] for row in rows])
region = np.array([-1 if row[1] is None else row[1] for row in rows])
x, y, three = (np.array([row[k] for row in rows], dtype=float) for k in (2, 3, 4))
one = np.ones(len(rows))


def told(params, covariance, lines):
    """Weight and standard error of each line, a combination of the parameters."""
    a = np.array(lines, dtype=float)
    return {"weights": (a @ params).tolist(), "errors": np.sqrt(np.diag(a @ covariance @ a.T)).tolist()}


exact = {"disp": 0, "tol": 1e-14, "maxiter": 500, "method": "newton"}
out = {"versions": {"statsmodels": statsmodels.__version__}, "positive": int(y.sum()), "third": int((three == 2).sum())}
# x, Present against Absent, the intercept.
m = sm.Logit(y, np.stack([x, history == 0, one], axis=1).astype(float)).fit(**exact)
out["dummies"] = told(m.params, m.cov_params(), np.eye(3)) | {"llr": m.llr, "df": int(m.df_model)}
# x, Present against Absent, regions 1 and 2 against 0, the intercept of Absent and region 0.
design = np.stack([x, history == 0, region == 0, region == 1, region == 2, one], axis=1).astype(float)
lines = [[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, -1, 1, 0, 0], [0, 0, -1, 0, 1, 0], [0, 0, 1, 0, 0, 1]]
m = sm.Logit(y, design).fit(**exact)
out["missing"] = told(m.params, m.cov_params(), lines) | {"llr": m.llr, "df": int(m.df_model)}
m = sm.MNLogit(three, design).fit(**exact)
cov = np.asarray(m.cov_params())
out["softmax"] = [told(m.params[:, k], cov[6 * k : 6 * k + 6, 6 * k : 6 * k + 6], lines) for k in range(2)]
json.dump(out, sys.stdout, indent=1)
