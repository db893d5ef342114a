"""deciban next to other libraries: the same data, answers that are compared first, then times.

    python benches/peers.py [PART OF A NAME] [FIGURE.svg]

A line has a workload, a peer, both times and their ratio; the figure has a bar for each line. Peers that are not installed are named at the end; these
can be: scikit-learn and its Intel extension, LIBLINEAR (`liblinear-official`), LightGBM, Polars, pandas, River, lir, R
with MASS, e1071 and glmnet (`apt install r-cran-mass r-cran-e1071 r-cran-glmnet`), and linfa and smartcore, which
`rust_peers` beside this file compiles at the first run. The program `deciban` is the one in `DECIBAN_PROGRAM`, or in
the path. Both sides run in turn after a pause, in which threads of BLAS end to spin, and the
best of several runs counts. The first lines say what the machine can do: how fast memory is read, and the rate of
OpenBLAS's matrix product. On a machine with other work the ratios are rough; its load is printed.
"""

import contextlib
import importlib
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np

RUNS, PAUSE = 5, 0.3
RNG = np.random.default_rng(1)
PROGRAM = os.environ.get("DECIBAN_PROGRAM", "deciban")
RATIOS, ABSENT = [], []


def best(*calls, runs=RUNS):
    """The least time of each."""
    times = [[] for _ in calls]
    for _ in range(runs):
        for call, taken in zip(calls, times):
            time.sleep(PAUSE)
            start = time.perf_counter()
            call()
            taken.append(time.perf_counter() - start)
    return [min(taken) for taken in times]


def line(workload, peer, own, theirs):
    RATIOS.append((workload, peer, theirs / own))
    print(f"{workload:48} {peer:26} {1e3 * own:10.1f} ms {1e3 * theirs:10.1f} ms {theirs / own:8.1f}x", flush=True)


@contextlib.contextmanager
def peer(name):
    """What a peer is needed for; without it, its name is kept for the end."""
    try:
        yield
    except (ImportError, FileNotFoundError) as missing:
        ABSENT.append(f"{name} ({missing})")


def same(a, b, tolerance=1e-6):
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def numbers(rows, columns, classes=2):
    y = RNG.integers(0, classes, rows)
    mixing = np.eye(columns) + 0.3 * RNG.normal(size=(columns, columns)) / np.sqrt(columns)
    return RNG.normal(size=(rows, columns)) @ mixing + 0.3 * RNG.normal(size=(classes, columns))[y], y


def limits():
    """What no program on this machine can be faster than."""
    x = np.ones(25_000_000)
    [read] = best(lambda: x.max())
    a = RNG.normal(size=(1500, 1500))
    [multiplied] = best(lambda: a @ a)
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}", end="; ")
    print(f"one thread reads {x.nbytes / read / 1e9:.1f} GB/s", end="; ")
    print(f"OpenBLAS multiplies at {2 * 1500**3 / multiplied / 1e9:.0f} Gflop/s\n", flush=True)


def gaussians():
    import sklearn.discriminant_analysis as theirs
    from sklearn.naive_bayes import GaussianNB

    import deciban.sklearn as ours

    X, y = numbers(200_000, 50)
    pairs = [
        (ours.GaussianNB(), GaussianNB()),
        (ours.LinearDiscriminantAnalysis(solver="lsqr"), theirs.LinearDiscriminantAnalysis(solver="lsqr")),
        (ours.QuadraticDiscriminantAnalysis(), theirs.QuadraticDiscriminantAnalysis()),
    ]
    own = {}
    for (mine, other), name in zip(pairs, ("GaussianNB", "LDA", "QDA")):
        same(mine.fit(X, y).predict_proba(X[:1000]), other.fit(X, y).predict_proba(X[:1000]))
        times = best(lambda: mine.fit(X, y), lambda: other.fit(X, y))
        line(f"{name} fit, 200,000 x 50", "scikit-learn", *times)
        own[name] = times[0], mine.predict_proba(X[:1000])[:, 1].sum()
        times = best(lambda: mine.predict_proba(X), lambda: other.predict_proba(X))
        line(f"{name} posteriors, 200,000 x 50", "scikit-learn", *times)
    with peer("R"), tempfile.TemporaryDirectory() as folder:
        X.T.tofile(f"{folder}/x")
        y.astype(np.int32).tofile(f"{folder}/y")
        calls = {
            "LDA": ("MASS::lda", "MASS::lda(x, y)", "predict(m, h)$posterior[, 2]"),
            "QDA": ("MASS::qda", "MASS::qda(x, y)", "predict(m, h)$posterior[, 2]"),
            "GaussianNB": ("e1071::naiveBayes", "e1071::naiveBayes(x, y)", 'predict(m, h, type = "raw")[, 2]'),
        }
        for name, (function, fit, posterior) in calls.items():
            seconds, total = in_r(folder, X.shape, fit, posterior)
            # e1071 and MASS divide by n - 1 where scikit-learn divides by n.
            same(own[name][1], total, 1e-3)
            line(f"{name} fit, 200,000 x 50", f"R, {function}", own[name][0], seconds)


def in_r(folder, shape, fit, posterior):
    """The least time of a fit in R, and the sum of the posteriors of the first thousand rows."""
    script = f"""
        n <- {shape[0]}; d <- {shape[1]}
        x <- matrix(readBin("{folder}/x", "double", n * d), n, d); colnames(x) <- paste0("x", 1:d)
        y <- factor(readBin("{folder}/y", "integer", n))
        t <- min(sapply(1:3, function(i) system.time(m <<- {fit})[["elapsed"]]))
        h <- x[1:1000, ]
        cat(t, sum({posterior}))
    """
    ran = subprocess.run(["Rscript", "-e", script], capture_output=True, text=True)
    if ran.returncode:
        raise ImportError(ran.stderr.strip().splitlines()[-1] if ran.stderr.strip() else "R failed")
    return map(float, ran.stdout.split())


def logistic():
    import sklearn.linear_model

    import deciban.sklearn as ours

    X, y = numbers(200_000, 50)
    mine = ours.LogisticRegression().fit(X, y)
    name = "LogisticRegression fit, 200,000 x 50"

    def loss(w, b):
        s = np.where(y == 1, 1.0, -1.0) * (X @ w + b)
        return np.logaddexp(0, -s).sum() + 0.5 * w @ w

    least = loss(mine.coef_[0], mine.intercept_[0])
    other = sklearn.linear_model.LogisticRegression(tol=1e-6).fit(X, y)
    same(least, loss(other.coef_[0], other.intercept_[0]), 1e-5)
    line(name, "scikit-learn, lbfgs", *best(lambda: mine.fit(X, y), lambda: other.fit(X, y)))
    with peer("the Intel extension of scikit-learn"):
        from sklearnex.linear_model import LogisticRegression

        intel = LogisticRegression(tol=1e-6).fit(X, y)
        same(least, loss(intel.coef_[0], intel.intercept_[0]), 1e-5)
        line(name, "scikit-learn-intelex", *best(lambda: mine.fit(X, y), lambda: intel.fit(X, y)))
    with peer("LIBLINEAR"):
        from liblinear import liblinearutil

        # Its intercept is a column that is penalised as the others are: hardly, beside so many rows.
        problem = liblinearutil.problem(y, np.hstack([X, np.ones((len(X), 1))]))
        how = liblinearutil.parameter("-s 0 -c 1 -e 0.001 -q")
        model = liblinearutil.train(problem, how)
        w = np.array(model.get_decfun()[0]) * (1 if model.get_labels()[0] == 1 else -1)
        same(least, loss(w[:-1], w[-1]), 1e-4)
        line(name, "LIBLINEAR", *best(lambda: mine.fit(X, y), lambda: liblinearutil.train(problem, how)))
    with peer("R"), tempfile.TemporaryDirectory() as folder:
        X.T.tofile(f"{folder}/x")
        y.astype(np.int32).tofile(f"{folder}/y")
        fit = "glmnet::glmnet(x, y, family = 'binomial', alpha = 0, lambda = 1 / n, standardize = FALSE, thresh = 1e-10)"
        seconds, total = in_r(folder, X.shape, fit, "predict(m, h, type = 'response')")
        same(mine.predict_proba(X[:1000])[:, 1].sum(), total, 1e-3)
        line(name, "R, glmnet", best(lambda: mine.fit(X, y))[0], seconds)


def rust():
    """linfa and smartcore, by the crate beside this file."""
    import deciban.sklearn as ours

    # One fit of 200,000 x 50 takes some of these several minutes.
    X, y = numbers(20_000, 20)
    manifest = os.path.join(os.path.dirname(__file__), "rust_peers", "Cargo.toml")
    with peer("linfa and smartcore"), tempfile.TemporaryDirectory() as folder:
        X.tofile(f"{folder}/x")
        y.astype(np.uint32).tofile(f"{folder}/y")
        command = ["cargo", "run", "--release", "--quiet", "--manifest-path", manifest, "--", folder, *map(str, X.shape)]
        ran = subprocess.run(command, capture_output=True, text=True)
        if ran.returncode:
            raise ImportError(ran.stderr.strip() or "it ended without an answer")
        for row in ran.stdout.splitlines():
            name, seconds, ones = row.split("\t")
            mine = (ours.GaussianNB if "Gaussian" in name else ours.LogisticRegression)().fit(X, y)
            # Penalties and tolerances differ a little, and so may a few rows at the boundary.
            assert abs(mine.predict(X[:1000]).sum() - float(ones)) <= 10, f"{name}: {ones} rows of class 1"
            line(f"{type(mine).__name__} fit, 20,000 x 20", name, best(lambda: mine.fit(X, y))[0], float(seconds))


def search():
    """A table to the model that cross-validation chooses, beside a search of as many folds over boosted trees."""
    X, y = numbers(20_000, 10)
    with tempfile.TemporaryDirectory() as folder, peer("LightGBM"):
        from lightgbm import LGBMClassifier
        from sklearn.model_selection import RandomizedSearchCV

        path = f"{folder}/rows.csv"
        header = ",".join([*(f"x{j}" for j in range(10)), "label"])
        np.savetxt(path, np.column_stack([X, y]), fmt=["%.5f"] * 10 + ["%d"], delimiter=",", header=header, comments="")
        fit = ["fit", path, "-t", "label", "-o", f"{folder}/m.deciban"]
        settings = {"num_leaves": [7, 15, 31, 63], "learning_rate": [0.02, 0.05, 0.1], "min_child_samples": [5, 20, 80]}
        trees = LGBMClassifier(verbosity=-1)
        other = RandomizedSearchCV(trees, settings, n_iter=20, cv=3, scoring="neg_log_loss", random_state=1)
        times = best(lambda: program(*fit), lambda: other.fit(X, y), runs=1)
        line("20,000 x 10, search without options", "LightGBM, 20 settings", *times)


def words():
    import scipy.sparse as sp
    import sklearn.naive_bayes

    import deciban.sklearn as ours

    rows, columns, each = 100_000, 50_000, 100
    y = RNG.integers(0, 10, rows)
    indices = np.sort((columns * RNG.random((rows, each)) ** 2).astype(np.int32), axis=1).ravel()
    X = sp.csr_matrix((np.ones(rows * each), indices, np.arange(0, rows * each + 1, each)), shape=(rows, columns))
    X.sum_duplicates()
    for name in ("MultinomialNB", "BernoulliNB"):
        mine, other = getattr(ours, name)().fit(X, y), getattr(sklearn.naive_bayes, name)().fit(X, y)
        same(mine.predict_proba(X[:500]), other.predict_proba(X[:500]))
        size = "100,000 x 50,000 sparse"
        line(f"{name} fit, {size}", "scikit-learn", *best(lambda: mine.fit(X, y), lambda: other.fit(X, y)))
        times = best(lambda: mine.predict_proba(X), lambda: other.predict_proba(X))
        line(f"{name} posteriors, {size}", "scikit-learn", *times)


def program(*arguments):
    if shutil.which(PROGRAM) is None:
        raise FileNotFoundError("name the program `deciban` in DECIBAN_PROGRAM")
    return subprocess.run([PROGRAM, *arguments], check=True, capture_output=True, text=True).stdout


def files():
    """A table with a text label, from the file to a fitted model; deciban starts a process for it."""
    from sklearn.naive_bayes import GaussianNB

    X, y = numbers(500_000, 20)
    labels = np.array(["no", "yes"])[y]
    with tempfile.TemporaryDirectory() as folder, peer("the program deciban"):
        path, model = f"{folder}/rows.csv", f"{folder}/rows.deciban"
        names = [f"x{j}" for j in range(20)]
        with open(path, "w") as file:
            file.write(",".join([*names, "label"]) + "\n")
            file.writelines(",".join(f"{x:.5f}" for x in row) + f",{c}\n" for row, c in zip(X, labels))
        fit = ["fit", path, "-t", "label", "--model", "gaussian", "--covariance", "diagonal", "-o", model]
        program(*fit)
        described = json.loads(program("inspect", model, "--json"))
        assert described, "a model"
        with peer("Polars"):
            import polars

            def learn():
                table = polars.read_csv(path)
                return GaussianNB().fit(table.select(names).to_numpy(), table["label"].to_numpy())

            learn()
            line("CSV of 500,000 x 20 to model", "Polars + scikit-learn", *best(lambda: program(*fit), learn))
            times = best(lambda: program(*fit), lambda: polars.read_csv(path))
            line("CSV of 500,000 x 20 to model", "Polars, reading alone", *times)
        with peer("pandas"):
            import pandas

            def learn_from_pandas():
                table = pandas.read_csv(path)
                return GaussianNB().fit(table[names].to_numpy(), table["label"].to_numpy())

            line("CSV of 500,000 x 20 to model", "pandas + scikit-learn", *best(lambda: program(*fit), learn_from_pandas))
        row = f"{folder}/one.csv"
        with open(row, "w") as file:
            file.write(",".join(names) + "\n" + ",".join(["0.5"] * 20) + "\n")
        [taken] = best(lambda: program("predict", model, row))
        print(f"{'`deciban predict` of one row, with its process':75} {1e3 * taken:10.1f} ms", flush=True)


def texts():
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import MultinomialNB

    vocabulary = np.array([f"word{j}" for j in range(50_000)])
    chosen = vocabulary[(50_000 * RNG.random((100_000, 15)) ** 2).astype(int)]
    y = RNG.integers(0, 2, len(chosen))
    with tempfile.TemporaryDirectory() as folder, peer("the program deciban"):
        path = f"{folder}/messages.csv"
        with open(path, "w") as file:
            file.write("label,text\n")
            file.writelines(f"{'ab'[c]},{' '.join(row)}\n" for row, c in zip(chosen, y))
        fit = ["fit", path, "-t", "label", "--model", "multinomial", "--text", "text", "-o", f"{folder}/m.deciban"]

        def learn():
            with open(path) as file:
                labels, messages = zip(*(row.rstrip("\n").split(",", 1) for row in list(file)[1:]))
            return MultinomialNB().fit(CountVectorizer().fit_transform(messages), labels)

        program(*fit)
        line("100,000 texts of 15 words to model", "scikit-learn", *best(lambda: program(*fit), learn))


def increments():
    import deciban.sklearn as ours

    X, y = numbers(20_000, 20)
    with peer("River"):
        from river.naive_bayes import GaussianNB

        rows = [dict(enumerate(row)) for row in X]

        def theirs():
            model = GaussianNB()
            for row, label in zip(rows, y):
                model.learn_one(row, label)
            return model

        def mine():
            model = ours.GaussianNB(var_smoothing=0)
            for start in range(0, len(X), 100):
                model.partial_fit(X[start : start + 100], y[start : start + 100], classes=[0, 1])
            return model

        found, other = mine(), theirs()
        same(found.predict_proba(X[:20])[:, 1], [other.predict_proba_one(row)[1] for row in rows[:20]], 1e-2)
        line("20,000 rows of 20, in parts (River: row by row)", "River", *best(mine, theirs))


def cllr():
    from deciban import evaluate

    y = RNG.integers(0, 2, 1_000_000)
    llr = RNG.normal(size=len(y)) + 2.0 * y - 1.0
    with peer("lir"):
        metrics = importlib.import_module("lir.metrics")
        data = importlib.import_module("lir.data.models")
        theirs_of = data.LLRData(features=llr / np.log(10), labels=y)
        same(evaluate.cllr(llr, y), metrics.cllr(theirs_of))
        line("Cllr of 1,000,000", "lir", *best(lambda: evaluate.cllr(llr, y), lambda: metrics.cllr(theirs_of)))


def figure(ratios):
    """The SVG of a bar for each ratio, the largest first, with a logarithmic axis."""
    ratios = sorted(ratios, key=lambda line: -line[2])
    left, width, step, top = 420, 400, 19, 44
    low, high = min(1.0, ratios[-1][2]), ratios[0][2]
    height = step * len(ratios)
    x = lambda ratio: left + width * math.log(ratio / low) / math.log(high / low)  # noqa: E731
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 60}" height="{top + height + 30}" font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        '<text x="10" y="20" font-size="14">How many times as fast deciban is, on two processors</text>',
    ]
    for mark in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000):
        if low <= mark <= high:
            out.append(f'<path d="M{x(mark):.1f} {top - 6}v{height + 8}" stroke="{"#666" if mark == 1 else "#ddd"}"/>')
            out.append(f'<text x="{x(mark):.1f}" y="{top + height + 18}" text-anchor="middle">{mark}</text>')
    for i, (workload, name, ratio) in enumerate(ratios):
        y = top + step * i
        a, b = sorted((x(1.0), x(ratio)))
        out.append(f'<rect x="{a:.1f}" y="{y}" width="{max(b - a, 1):.1f}" height="{step - 5}" fill="{"#0072b2" if ratio >= 1 else "#d55e00"}"/>')
        out.append(f'<text x="{left - 8 if ratio >= 1 else x(ratio) - 8:.1f}" y="{y + 11}" text-anchor="end">{workload} <tspan fill="#666">{name}</tspan></text>')
        out.append(f'<text x="{b + 5:.1f}" y="{y + 11}">{ratio:,.{int(ratio < 100)}f}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    drawn = [argument for argument in sys.argv[1:] if argument.endswith(".svg")]
    part = "".join(argument for argument in sys.argv[1:] if argument not in drawn)
    limits()
    print(f"{'workload':48} {'peer':26} {'deciban':>13} {'peer':>13} {'ratio':>9}")
    for bench in (gaussians, logistic, rust, words, files, texts, increments, cllr, search):
        if part in bench.__name__:
            bench()
    if RATIOS:
        print(f"\nthe median of {len(RATIOS)} ratios is {np.median([ratio for *_, ratio in RATIOS]):.1f}")
        for path in drawn:
            with open(path, "w") as file:
                file.write(figure(RATIOS))
    for name in ABSENT:
        print(f"not here: {name}")
