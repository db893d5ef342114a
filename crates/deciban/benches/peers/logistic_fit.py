"""The peer of benches/logistic_fit.rs: fits with scikit-learn once per line of standard input.

    python logistic_fit.py FOLDER logistic|softmax|text

Answers each line with seconds, the largest component of the gradient of the penalised sum of losses (C = 1),
and the solver: in the first line the fastest of all that fit the problem, then that one again.
"""

import sys
import time
import warnings

import numpy as np
import scipy.sparse
from sklearn.linear_model import LogisticRegression

warnings.filterwarnings("ignore")
folder, job = sys.argv[1:3]


def read(name, kind):
    return np.fromfile(f"{folder}/{name}", dtype=kind)


y = read("y", "<u8").astype(np.int64)
if job == "text":
    x = scipy.sparse.csr_matrix(
        (read("counts", "<f8"), read("indices", "<u8").astype(np.int32), read("offsets", "<u8").astype(np.int32)),
        shape=(len(y), 50_000),
    )
    solvers = ["lbfgs", "newton-cg", "liblinear"]
else:
    x = read("x", "<f8").reshape(len(y), -1)
    solvers = ["lbfgs", "newton-cholesky", "newton-cg"]


def gradient(model):
    if len(model.classes_) == 2:
        residual = (model.predict_proba(x)[:, 1] - y)[:, None]
    else:
        residual = model.predict_proba(x) - np.eye(len(model.classes_))[y]
    weights = x.T @ residual + model.coef_.T
    return max(np.abs(weights).max(), np.abs(residual.sum(axis=0)).max())


def fit(solver):
    model = LogisticRegression(solver=solver, max_iter=1000)
    start = time.perf_counter()
    model.fit(x, y)
    return time.perf_counter() - start, gradient(model), solver


best = None
for _ in sys.stdin:
    if best is None:
        best = min(fit(solver) for solver in solvers)
    else:
        best = fit(best[2])
    print(*best, flush=True)
