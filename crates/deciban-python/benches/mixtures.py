"""Fits of Gaussian mixtures against scikit-learn, from the same start and for as many steps, in one process.

    python benches/mixtures.py [ROWS]

200,000 rows of 20 numbers in one class, 8 full components. Both make the same steps of expectation–maximisation;
what each spends on the start is measured by a fit without steps and taken off. The last column is the difference of
the log-likelihoods per row.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
from sklearn.mixture import GaussianMixture

from deciban import Classifier

WIDTH, COMPONENTS, STEPS, RUNS = 20, 8, 10, 3


def rows(count, seed=1):
    random = np.random.default_rng(seed)
    centres = random.normal(scale=2.0, size=(COMPONENTS, WIDTH))
    which = random.integers(0, COMPONENTS, count)
    mixing = np.eye(WIDTH) + 0.3 * random.normal(size=(COMPONENTS, WIDTH, WIDTH)) / np.sqrt(WIDTH)
    noise = random.normal(size=(count, WIDTH))
    for k in range(COMPONENTS):
        noise[which == k] = noise[which == k] @ mixing[k]
    return noise + centres[which]


def timed(run):
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


def parameters(model):
    """Weights, means and covariances of the components of the class `mixture`."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        model.save(path)
        command = [sys.executable, "-m", "deciban", "inspect", path, "--json"]
        told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    parts = [entry for entry in told["classes"] if entry["class"] == "mixture"][0]["components"]
    return [np.array([part[name] for part in parts]) for name in ("weight", "mean", "covariance")]


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    X = rows(count)
    # A classifier has two classes: the second has 2,000 rows far away, which cost little.
    far = np.random.default_rng(2).normal(loc=1e3, size=(2000, WIDTH))
    both, y = np.vstack([X, far]), np.repeat(["mixture", "far"], [count, 2000])

    def ours(steps):
        options = dict(components=COMPONENTS, prior_rows=0, iterations=steps)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Classifier("gaussian", **options).fit(both, y)

    weights, means, covariances = parameters(ours(0))
    inverse = np.linalg.inv(covariances)

    def theirs(steps):
        options = dict(tol=0, reg_covar=0, max_iter=steps, weights_init=weights, means_init=means)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return GaussianMixture(COMPONENTS, precisions_init=inverse, **options).fit(X)

    mine, other = [], []
    for _ in range(RUNS):
        begin, _ = timed(lambda: ours(0))
        whole, model = timed(lambda: ours(STEPS))
        mine.append((whole, whole - begin))
        one, _ = timed(lambda: theirs(1))
        whole, peer = timed(lambda: theirs(STEPS))
        # One step is (whole − one)/(STEPS − 1): what is left is the start.
        other.append((whole, (whole - one) / (STEPS - 1) * STEPS))
    found_weights, found_means, found_covariances = parameters(model)
    again = GaussianMixture(COMPONENTS)
    again.weights_, again.means_, again.covariances_ = found_weights, found_means, found_covariances
    again.precisions_cholesky_ = np.array([np.linalg.inv(np.linalg.cholesky(c)).T for c in found_covariances])
    gap = abs(again.score(X) - peer.score(X))
    print(f"{count} rows of {WIDTH} numbers, {COMPONENTS} full components, {STEPS} steps; best of {RUNS}")
    for name, k, wanted in (("the whole fit", 0, 5), ("the steps alone", 1, 5)):
        a, b = min(t[k] for t in mine), min(t[k] for t in other)
        told = "" if b / a >= wanted else "   <- short"
        print(f"{name:16} {1e3 * a:8.0f} ms {1e3 * b:8.0f} ms {b / a:6.1f}x  (asked: {wanted}x){told}")
    print(f"log-likelihoods per row differ by {gap:.1e}")


if __name__ == "__main__":
    main()
