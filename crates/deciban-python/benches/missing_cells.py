"""Rows with missing cells: maximum likelihood and marginalising against imputation, in the same run.

    python benches/missing_cells.py DATA [SEEDS]

DATA is a folder with breast-cancer/wdbc.csv and pendigits/pendigits.tra, pendigits.tes. Three cells in ten are
removed at random, of the rows to learn from and of the others, which are only scored: Gaussian models first, and logistic
regression at the end. wdbc is cut in halves at random, with as many of each class; pendigits has a file of its own for
the test. Figures are means over the seeds.
"""

import csv
import pathlib
import sys
import time
import warnings

import numpy as np
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, SimpleImputer
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from deciban import Classifier

warnings.simplefilter("ignore")


def wdbc(folder, seed):
    with open(folder / "breast-cancer" / "wdbc.csv") as file:
        rows = list(csv.DictReader(file))
    y = np.array([row.pop("diagnosis") for row in rows])
    X = np.array([[float(x) for x in row.values()] for row in rows])
    return train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)


def pendigits(folder, seed):
    train, test = (np.loadtxt(folder / "pendigits" / f"pendigits.{part}", delimiter=",") for part in ("tra", "tes"))
    return train[:, :-1], test[:, :-1], train[:, -1].astype(int), test[:, -1].astype(int)


def with_gaps(X, random):
    X = X.copy()
    X[random.random(X.shape) < 0.3] = np.nan
    return X


def imputed(imputer):
    # Without a little regularisation scikit-learn refuses some of these rows as collinear once they are imputed.
    return make_pipeline(StandardScaler(), imputer, QuadraticDiscriminantAnalysis(reg_param=0.01))


#: Of shrinkages of 0.01 to 0.2 and 10 to 300 prior rows, the best by held-out thirds of the rows to learn from.
CHOSEN = {"wdbc": dict(standardise=True, shrinkage=0.03), "pendigits": dict(prior_rows=30)}


def models(data):
    if data.endswith(", linear"):
        logistic = lambda: Classifier("logistic")  # noqa: E731
        return {
            "logistic": logistic,
            "mean imputation": lambda: make_pipeline(StandardScaler(), SimpleImputer(), logistic()),
            "IterativeImputer": lambda: make_pipeline(StandardScaler(), IterativeImputer(), logistic()),
        }
    return {
        "deciban": lambda: Classifier("gaussian", **CHOSEN[data]),
        "mean imputation + QDA": lambda: imputed(SimpleImputer()),
        "IterativeImputer + QDA": lambda: imputed(IterativeImputer()),
    }


def main():
    folder, seeds = pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5
    tables = {"wdbc": wdbc, "pendigits": pendigits}
    for name, data in (tables | {f"{name}, linear": data for name, data in tables.items()}).items():
        made = models(name)
        figures = {peer: [] for peer in made}
        for seed in range(seeds):
            X, test, y, truth = data(folder, seed)
            random = np.random.default_rng(seed)
            X, test = with_gaps(X, random), with_gaps(test, random)
            for peer, make in made.items():
                start, cpu = time.perf_counter(), time.process_time()
                model = make().fit(X, y)
                p = model.predict_proba(test)
                taken = (time.perf_counter() - start, time.process_time() - cpu)
                wrong = np.mean(model.classes_[p.argmax(axis=1)] != truth)
                figures[peer].append((100 * wrong, log_loss(truth, np.clip(p, 1e-300, 1), labels=model.classes_), *taken))
        print(f"{name + f', {seeds} seeds':24}  error  log loss  seconds  CPU seconds")
        for peer, values in figures.items():
            error, loss, seconds, cpu = np.mean(values, axis=0)
            print(f"{peer:24} {error:6.2f} % {loss:8.4f} {seconds:8.2f} {cpu:12.2f}", flush=True)


if __name__ == "__main__":
    main()
