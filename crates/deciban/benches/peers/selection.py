"""Times scikit-learn's grid search, one job per line of standard input, in seconds on standard output.

Ten-fold stratified cross-validation with error and log loss of each candidate, n_jobs=2.
"""

import sys
import time

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, StratifiedKFold

rows, columns, classes, grid = map(int, sys.argv[1:])
rng = np.random.default_rng(1)
y = rng.integers(classes, size=rows)
mix = rng.normal(size=(classes, columns, columns)) / np.sqrt(columns) + np.eye(columns)
x = np.einsum("ij,ijk->ik", rng.normal(size=(rows, columns)), mix[y]) + 0.3 * rng.normal(size=(classes, columns))[y]
strengths = np.linspace(0.01, 0.9, grid)
folds = StratifiedKFold(10, shuffle=True, random_state=0)
searches = {
    "qda": (QuadraticDiscriminantAnalysis(), {"reg_param": strengths}),
    "lda": (LinearDiscriminantAnalysis(solver="lsqr"), {"shrinkage": strengths}),
}

for line in sys.stdin:
    model, candidates = searches[line.strip()]
    search = GridSearchCV(
        model, candidates, scoring=["neg_log_loss", "accuracy"], refit=False, cv=folds, n_jobs=2
    )
    start = time.perf_counter()
    search.fit(x, y)
    print(time.perf_counter() - start, flush=True)
