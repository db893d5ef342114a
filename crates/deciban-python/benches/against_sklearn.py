"""How many times faster deciban's drop-ins are than scikit-learn, in one process.

    python benches/against_sklearn.py [PART OF A NAME]

Both are run in turn, and the best of several runs of each counts, so that what else the machine does hardly
matters. A line shows the two times, their ratio, and the ratio that is asked for.
"""

import os
import subprocess
import sys
import time
import warnings

import numpy as np
import scipy.sparse as sp
import sklearn.discriminant_analysis
import sklearn.linear_model
import sklearn.naive_bayes

import deciban.sklearn as ours

RNG = np.random.default_rng(1)
RUNS = 25


def best(*runs):
    """The least time of each, run in turn, with a pause: threads of BLAS spin for a while after their work."""
    times = [[] for _ in runs]
    for _ in range(RUNS):
        for run, taken in zip(runs, times):
            time.sleep(0.2)
            start = time.perf_counter()
            run()
            taken.append(time.perf_counter() - start)
    return [min(taken) for taken in times]


def line(name, ours, theirs, wanted):
    told = "" if theirs / ours >= wanted else "   <- short"
    print(f"{name:44} {1e3 * ours:8.1f} ms {1e3 * theirs:8.1f} ms {theirs / ours:6.1f}x  (asked: {wanted}x){told}", flush=True)


def pair(name, model, peer, X, y, fit, predict):
    """Fit and predict_proba of one class against its peer."""
    mine, other = model.fit(X, y), peer.fit(X, y)
    line(f"{name} fit", *best(lambda: mine.fit(X, y), lambda: other.fit(X, y)), fit)
    if predict is not None:
        np.testing.assert_allclose(mine.predict_proba(X[:100]), other.predict_proba(X[:100]), rtol=1e-5, atol=1e-9)
        line(f"{name} predict_proba", *best(lambda: mine.predict_proba(X), lambda: other.predict_proba(X)), predict)


def numbers(rows, columns, classes):
    y = RNG.integers(0, classes, rows)
    mixing = np.eye(columns) + 0.3 * RNG.normal(size=(columns, columns)) / np.sqrt(columns)
    return RNG.normal(size=(rows, columns)) @ mixing + 0.3 * RNG.normal(size=(classes, columns))[y], y


def gaussian_nb():
    X, y = numbers(1_000_000, 20, 2)
    pair("GaussianNB 1,000,000 x 20", ours.GaussianNB(), sklearn.naive_bayes.GaussianNB(), X, y, 8, 6)


def lda_and_qda():
    X, y = numbers(200_000, 50, 2)
    peers = sklearn.discriminant_analysis
    for solver in ("lsqr", "svd", "eigen"):
        mine, other = ours.LinearDiscriminantAnalysis(solver=solver), peers.LinearDiscriminantAnalysis(solver="lsqr")
        pair(f"LDA {solver} 200,000 x 50, against lsqr", mine, other, X, y, 5, None)
    mine, other = ours.QuadraticDiscriminantAnalysis(), peers.QuadraticDiscriminantAnalysis()
    pair("QDA 200,000 x 50", mine, other, X, y, 10, 3)


def sparse_counts():
    rows, columns, each = 100_000, 50_000, 80
    y = RNG.integers(0, 2, rows)
    indices = np.sort((columns * RNG.random((rows, each)) ** 2).astype(np.int32), axis=1).ravel()
    X = sp.csr_matrix((np.ones(rows * each), indices, np.arange(0, rows * each + 1, each)), shape=(rows, columns))
    X.sum_duplicates()
    peers = sklearn.naive_bayes
    pair("MultinomialNB 100,000 x 50,000 sparse", ours.MultinomialNB(), peers.MultinomialNB(), X, y, 2, 2)
    pair("BernoulliNB 100,000 x 50,000 sparse", ours.BernoulliNB(), peers.BernoulliNB(), X, y, 2, 2)


def categorical():
    y = RNG.integers(0, 2, 500_000)
    X = RNG.integers(0, 10, (500_000, 20))
    pair("CategoricalNB 500,000 x 20", ours.CategoricalNB(), sklearn.naive_bayes.CategoricalNB(), X, y, 10, 5)


def gradient_norm(model, X, y):
    """The largest component of the gradient of the mean penalised loss."""
    p = model.predict_proba(X)
    p[np.arange(len(y)), y] -= 1
    p = p[:, 1:] if p.shape[1] == 2 else p
    gradient = (p.T @ X + model.coef_ / model.C) / len(y)
    return max(np.abs(gradient).max(), np.abs(p.mean(axis=0)).max())


def logistic():
    for classes in (2, 5):
        X, y = numbers(200_000, 50, classes)
        mine = ours.LogisticRegression().fit(X, y)
        norm = gradient_norm(mine, X, y)
        fastest = (np.inf, None)
        for solver in ("lbfgs", "newton-cholesky", "newton-cg"):
            # The largest tol that leads to a gradient as small as deciban's.
            for tol in 1e-4 * 0.5 ** np.arange(30):
                other = sklearn.linear_model.LogisticRegression(solver=solver, tol=tol, max_iter=1000).fit(X, y)
                if gradient_norm(other, X, y) <= norm:
                    break
            start = time.perf_counter()
            other.fit(X, y)
            fastest = min(fastest, (time.perf_counter() - start, solver, other), key=lambda told: told[0])
        solver, other = fastest[1:]
        name = f"LogisticRegression 200,000 x 50, {classes} classes ({solver})"
        line(name, *best(lambda: mine.fit(X, y), lambda: other.fit(X, y)), 3)


def importing():
    clock = "import time; s = time.perf_counter(); {}; print(1e3 * (time.perf_counter() - s))"
    # Compiled modules are kept, as they are for users; the first runs compile them.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for code in ("import deciban", "from deciban import Classifier", "import numpy"):
        command = [sys.executable, "-c", clock.format(code)]
        runs = [subprocess.run(command, capture_output=True, text=True, check=True, env=kept) for _ in range(7)]
        taken = min(float(run.stdout) for run in runs)
        print(f"{code:44} {taken:8.1f} ms" + ("" if "numpy" in code else "  (asked: 150 ms)"))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    part = sys.argv[1] if len(sys.argv) > 1 else ""
    for bench in (importing, gaussian_nb, lda_and_qda, sparse_counts, categorical, logistic):
        if part in bench.__name__:
            bench()
