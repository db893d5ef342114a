"""How many times faster the methods of deciban's drop-ins are than scikit-learn's, in one process.

    python benches/predictions.py [PART OF A NAME] [ROWS ...]

One table with a cell for each class, method, layout of X, number of rows and number of classes. Both are run in
turn, and the best of five runs of each counts. Before each run there is a pause, so that threads of BLAS, which
spin for a while after their work, do not run into the next one; short calls are repeated behind one pause. A last
table has the median and the least ratio of each class and method, and behind it stands every cell below 2. By default
there are 1 to 100,000 rows; a million takes 2 GB and some minutes for each class.
"""

import copy
import sys
import time
import warnings

import numpy as np
import scipy.sparse as sp
import sklearn.discriminant_analysis
import sklearn.linear_model
import sklearn.naive_bayes

import deciban.sklearn as ours

RUNS, PAUSE = 5, 0.1
#: Calls are repeated until they take so long.
LONG = 0.01
ROWS = [int(rows) for rows in sys.argv[2:]] or [1, 1_000, 10_000, 100_000]
#: Models are fitted on so many rows.
FITTED = 20_000
MOST = max(FITTED, *ROWS)
METHODS = ["predict", "predict_proba", "predict_log_proba", "decision_function", "transform", "partial_fit"]
RNG = np.random.default_rng(1)


def seconds(call, times):
    """The time of one of so many calls."""
    start = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - start) / times


def ratio(mine, other):
    """Their time over ours, and ours."""
    start = time.perf_counter()
    mine(), other()
    times = max(1, round(2 * LONG / (time.perf_counter() - start)))
    found = [[], []]
    for _ in range(RUNS):
        for call, taken in zip((mine, other), found):
            time.sleep(PAUSE)
            taken.append(seconds(call, times))
    own, theirs = map(min, found)
    return theirs / own, own


def numbers(classes):
    """Rows of 20 numbers."""
    y = RNG.integers(0, classes, MOST)
    return RNG.normal(size=(MOST, 20)) + 0.5 * RNG.normal(size=(classes, 20))[y], y


def counts(classes):
    """Rows of 20 small counts."""
    y = RNG.integers(0, classes, MOST)
    return np.minimum(RNG.poisson(RNG.gamma(2.0, 0.5, (classes, 20))[y]), 5).astype(float), y


def words(classes):
    """Rows of some 50 words, of 20,000."""
    y = RNG.integers(0, classes, MOST)
    indices = np.sort((20_000 * RNG.random((MOST, 50)) ** 2).astype(np.int32), axis=1).ravel()
    X = sp.csr_matrix((np.ones(len(indices)), indices, np.arange(0, len(indices) + 1, 50)), shape=(MOST, 20_000))
    X.sum_duplicates()
    return X, y


#: What each class is fitted on, and whether rows may be sparse.
CLASSES = {
    "GaussianNB": (numbers, False),
    "LinearDiscriminantAnalysis": (numbers, False),
    "QuadraticDiscriminantAnalysis": (numbers, False),
    "LogisticRegression": (numbers, True),
    "MultinomialNB": (counts, True),
    "ComplementNB": (counts, True),
    "BernoulliNB": (counts, True),
    "CategoricalNB": (counts, False),
}


def peer(name):
    modules = (sklearn.naive_bayes, sklearn.discriminant_analysis, sklearn.linear_model)
    return next(getattr(module, name) for module in modules if hasattr(module, name))


#: Options of both: counts go up to 5, and the rows of a fit may lack some.
OPTIONS = {"CategoricalNB": {"min_categories": 6}}


def fitted_peer(name, X, y):
    """scikit-learn's model; of logistic regression one step, because its weights are replaced."""
    options = {"max_iter": 1} if name == "LogisticRegression" else OPTIONS.get(name, {})
    return peer(name)(**options).fit(X, y)


def layouts(X):
    """The same rows in memory in other ways."""
    if sp.issparse(X):
        return {"sparse": X}
    return {"C": X, "Fortran": np.asfortranarray(X), "float32": X.astype(np.float32)}


def called(model, method, X, y):
    """The call of a method; increments go to a copy."""
    if method == "partial_fit":
        model = copy.deepcopy(model)
        return lambda: model.partial_fit(X, y)
    return lambda: getattr(model, method)(X)


def table(name):
    make, may_be_sparse = CLASSES[name]
    found = []
    for classes in (2, 10):
        for data in (make, words) if may_be_sparse else (make,):
            X, y = data(classes)
            fitted = X[:FITTED], y[:FITTED]
            mine, other = getattr(ours, name)(**OPTIONS.get(name, {})).fit(*fitted), fitted_peer(name, *fitted)
            if name == "LogisticRegression":
                # Both stop where their tolerance is met, which is not the same point: the weights are made equal, so
                # that predictions must be.
                other.coef_, other.intercept_ = mine.coef_, mine.intercept_
            np.testing.assert_allclose(mine.predict_proba(X[:200]), other.predict_proba(X[:200]), atol=1e-7)
            for layout, X in layouts(X).items():
                for method in METHODS:
                    if not hasattr(other, method):
                        continue
                    cells = []
                    for rows in ROWS:
                        part = X[:rows] if layout != "Fortran" else np.asfortranarray(X[:rows])
                        cells.append(ratio(*(called(model, method, part, y[:rows]) for model in (mine, other))))
                        found.append((name, method, f"K={classes}, {layout}, {rows:,} rows", cells[-1][0]))
                    told = "".join(f"{r:8.1f}x {1e6 * own:9.0f} µs" for r, own in cells)
                    print(f"{name:30} {classes:2} {layout:8} {method:18}{told}", flush=True)
    return found


def summary(found):
    """A row for each class: the median of its ratios by method, and the least. Then the cells below 2."""
    print(f"\n| median (least) ratio | {' | '.join(METHODS)} |\n|{'---|' * (len(METHODS) + 1)}")
    for name in dict.fromkeys(name for name, *_ in found):
        ratios = ([ratio for a, b, _, ratio in found if (a, b) == (name, method)] for method in METHODS)
        cells = (f"{np.median(of):.1f} ({min(of):.1f})" if of else "" for of in ratios)
        print(f"| {name} | {' | '.join(cells)} |")
    print()
    for name, method, cell, ratio in sorted(found, key=lambda cell: cell[-1]):
        if ratio < 2:
            print(f"below 2: {ratio:.2f} {name}.{method}, {cell}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    part = sys.argv[1] if len(sys.argv) > 1 else ""
    print(f"{'class':30} {'K':2} {'X':8} {'method':18}" + "".join(f"{rows:>15,} rows " for rows in ROWS))
    found = [cell for name in CLASSES if part in name for cell in table(name)]
    summary(found)
    cells = [ratio for *_, ratio in found]
    print(f"{len(cells)} cells: the median is {np.median(cells):.1f}, the least {min(cells):.2f};", end=" ")
    print(f"{sum(c < 1 for c in cells)} are below 1, {sum(c < 2 for c in cells)} below 2")
