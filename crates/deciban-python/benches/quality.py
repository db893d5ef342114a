"""How good models are that nobody has tuned: `deciban fit` with no option but the target, and its peers.

    python quality.py --data FOLDER --deciban target/release/deciban

FOLDER holds the data sets, one folder each (the names of the files stand in `TABLES`). All models see the same rows:
five stratified folds, two of tables with more than 10,000 rows, ten where the table of small data sets says so, or the
data set's own test file. Printed are the error rate, the log loss in nats, seconds that the processors spent on a fit, all cores together, and
the size of the model; `--page docs/quality.md` writes them into that page, between its markers. Results are kept in `--cache`, so that a run
can be taken up again; `--only` and `--models` name some tables and models.

Needs pandas, scikit-learn and lightgbm; interpret, for the EBM, if it is there.
"""

from __future__ import annotations

import argparse
import csv
import json
import pickle
import resource
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

ADULT = (
    "age workclass fnlwgt education education-num marital-status occupation relationship race sex capital-gain "
    "capital-loss hours-per-week native-country y"
).split()
TITANIC = ["pclass", "sex", "age", "sibsp", "parch", "fare", "embarked", "deck", "y"]


def plain(path, y=-1, **options):
    """A table without a header, whose class is a column by its place."""
    table = pd.read_csv(path, header=None, na_values="?", **options)
    table.columns = [f"c{i}" for i in range(table.shape[1])]
    name = table.columns[y]
    return table.rename(columns={name: "y"})


def named(path, y):
    return pd.read_csv(path).rename(columns={y: "y"})


def adult(path, skip=0):
    table = pd.read_csv(path, header=None, names=ADULT, skiprows=skip, skipinitialspace=True, na_values="?")
    table["y"] = table["y"].str.rstrip(".")
    return table


def titanic(path):
    table = pd.read_csv(path).rename(columns={"survived": "y"})
    table["deck"] = table["cabin"].str[0]
    return table[TITANIC]


def sms(path):
    lines = Path(path).read_text(encoding="utf8").splitlines()
    return pd.DataFrame([line.split("\t", 1)[::-1] for line in lines], columns=["message", "y"])


#: Name, how the table is read, and how it is split: a number of folds, a test file, or a share.
TABLES = {
    "adult": (lambda d: adult(d / "adult/adult.data.gz"), 2),
    "adult, test file": (lambda d: adult(d / "adult/adult.data.gz"), lambda d: adult(d / "adult/adult.test.gz", 1)),
    "car": (lambda d: plain(d / "car/car.data"), 5),
    "covertype": (lambda d: plain(d / "covertype/covtype-50k.csv.gz", skiprows=1), 40_000),
    "german-credit": (lambda d: plain(d / "german-credit/german.csv"), 5),
    "mushroom, 20 %": (lambda d: plain(d / "mushroom/agaricus-lepiota.data", 0), 0.2),
    "optdigits, test file": (
        lambda d: plain(d / "optdigits/optdigits.tra"),
        lambda d: plain(d / "optdigits/optdigits.tes"),
    ),
    "pendigits": (lambda d: plain(d / "pendigits/pendigits.tra"), 5),
    "pendigits, test file": (
        lambda d: plain(d / "pendigits/pendigits.tra"),
        lambda d: plain(d / "pendigits/pendigits.tes"),
    ),
    "sms-spam": (lambda d: sms(d / "sms-spam/SMSSpamCollection"), 10),
    "spambase": (lambda d: plain(d / "spambase/spambase.csv.gz", skiprows=1), 5),
    "titanic": (lambda d: titanic(d / "titanic/titanic3.csv"), 5),
    "usps, test file": (
        lambda d: plain(d / "usps/zip.train.gz", 0, sep=r"\s+"),
        lambda d: plain(d / "usps/zip.test.gz", 0, sep=r"\s+"),
    ),
    "vehicle": (lambda d: named(d / "vehicle/vehicle.csv", "Class"), 5),
    "wdbc": (lambda d: named(d / "breast-cancer/wdbc.csv", "diagnosis"), 5),
    "iris, small": (lambda d: plain(d / "iris/iris.data"), 10),
    "wine13, small": (lambda d: named(d / "wine/wine13.csv", "Type"), 10),
    "wdbc, small": (lambda d: named(d / "breast-cancer/wdbc.csv", "diagnosis"), 10),
    "titanic, small": (lambda d: titanic(d / "titanic/titanic3.csv"), 10),
    "german-credit, small": (lambda d: plain(d / "german-credit/german.csv"), 10),
}


def splits(table, how, data):
    """Pairs of a table to learn from and one to test on."""
    if callable(how):
        yield table, how(data)
        return
    if how > 1 and how < 100:
        for train, test in StratifiedKFold(how, shuffle=True, random_state=0).split(table, table["y"]):
            yield table.iloc[train], table.iloc[test]
        return
    order = np.random.default_rng(0).permutation(len(table))
    count = int(how * len(table)) if how < 1 else how
    yield table.iloc[order[:count]], table.iloc[order[count:]]


def judged(probabilities, classes, test):
    """The error rate and the log loss."""
    place = {str(c): i for i, c in enumerate(classes)}
    truth = np.array([place.get(str(y), -1) for y in test["y"]])
    own = np.where(truth >= 0, probabilities[np.arange(len(truth)), truth], 0.0)
    wrong = probabilities.argmax(1) != truth
    return float(wrong.mean()), float(-np.log(np.clip(own, 1e-15, 1)).mean())


# The models


def child_seconds():
    """The time that the processors have spent on programs that were started here."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def deciban(program, train, test):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for name, table in (("train", train), ("test", test)):
            table.to_csv(folder / f"{name}.csv", index=False, quoting=csv.QUOTE_MINIMAL)
        model = folder / "m.deciban"
        started = child_seconds()
        fit = [program, "fit", str(folder / "train.csv"), "--target", "y", "-o", str(model)]
        said = subprocess.run(fit, check=True, capture_output=True, text=True).stderr
        seconds = child_seconds() - started
        what = said.strip().splitlines()[-1]
        out = folder / "out.csv"
        predict = [program, "predict", str(model), str(folder / "test.csv"), "-o", str(out)]
        subprocess.run(predict, check=True, capture_output=True)
        found = pd.read_csv(out, dtype=str)
        columns = [c for c in found.columns if c.startswith("p(")]
        classes = [c[2:-1] for c in columns]
        return found[columns].astype(float).to_numpy(), classes, seconds, model.stat().st_size, what


def columns_of(table):
    x = table.drop(columns="y")
    numbers = [c for c in x if pd.api.types.is_numeric_dtype(x[c])]
    return x, numbers, [c for c in x if c not in numbers]


def dense(train):
    """Numbers standardised, gaps filled by the median; an indicator for each level."""
    _, numbers, levels = columns_of(train)
    return make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), levels),
    )


def coded(train):
    """Levels as codes, numbers as they are."""
    _, numbers, levels = columns_of(train)
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan)
    return make_column_transformer((codes, levels), ("passthrough", numbers)), len(levels)


def boosted(train):
    """Boosted trees that know which columns are codes."""
    coder, levels = coded(train)
    return make_pipeline(coder, HistGradientBoostingClassifier(random_state=0, categorical_features=list(range(levels))))


def lightgbm(train):
    from lightgbm import LGBMClassifier

    coder, levels = coded(train)
    model = LGBMClassifier(random_state=0, verbose=-1, n_jobs=2)
    model = make_pipeline(coder, model)
    return model, {"lgbmclassifier__categorical_feature": list(range(levels))} if levels else {}


def ebm(train):
    from interpret.glassbox import ExplainableBoostingClassifier

    # Its workers are processes, whose time would not be counted.
    return ExplainableBoostingClassifier(random_state=0, n_jobs=1)


def words(train):
    from sklearn.feature_extraction.text import TfidfVectorizer

    return make_column_transformer((TfidfVectorizer(), "message"))


PEERS = {
    "logistic regression": lambda t: make_pipeline(dense(t), LogisticRegression(max_iter=2000)),
    "random forest": lambda t: make_pipeline(dense(t), RandomForestClassifier(random_state=0, n_jobs=2)),
    "HistGradientBoosting": boosted,
    "LightGBM": lightgbm,
    "EBM": ebm,
    "LDA": lambda t: make_pipeline(dense(t), LinearDiscriminantAnalysis()),
    "QDA": lambda t: make_pipeline(dense(t), QuadraticDiscriminantAnalysis()),
    "GaussianNB": lambda t: make_pipeline(dense(t), GaussianNB()),
}
TEXT_PEERS = {
    "logistic regression": lambda t: make_pipeline(words(t), LogisticRegression(max_iter=2000)),
    "random forest": lambda t: make_pipeline(words(t), RandomForestClassifier(random_state=0, n_jobs=2)),
}
MAIN = ["logistic regression", "random forest", "HistGradientBoosting", "LightGBM", "EBM"]
SMALL = ["logistic regression", "LDA", "QDA", "GaussianNB"]


def peer(make, train, test):
    made = make(train)
    model, options = made if isinstance(made, tuple) else (made, {})
    started = time.process_time()
    model.fit(train.drop(columns="y"), train["y"].astype(str), **options)
    seconds = time.process_time() - started
    return model.predict_proba(test.drop(columns="y")), model.classes_, seconds, len(pickle.dumps(model)), ""


def run(name, model, data, program):
    """Error, log loss, seconds of a fit, bytes of a model, and what it is; means over the splits, the most seconds."""
    read, how = TABLES[name]
    table, found, what = read(data), [], []
    for train, test in splits(table, how, data):
        if model == "deciban":
            p, classes, seconds, size, said = deciban(program, train, test)
        else:
            makers = TEXT_PEERS if "message" in table else PEERS
            if model not in makers:
                return None
            p, classes, seconds, size, said = peer(makers[model], train, test)
        found.append([*judged(p, classes, test), seconds, size])
        what.append(said)
    found = np.array(found)
    error, loss = found[:, :2].mean(0)
    return {"error": error, "loss": loss, "seconds": found[:, 2].max(), "bytes": found[:, 3].max(), "what": what}


def tables(cache):
    """The tables of the page."""
    def block(names, models):
        head = ["table", *models]
        lines = [head, ["---"] * len(head)]
        for name in names:
            losses = [cache.get(f"{name}|{m}", {}).get("loss", np.inf) for m in models]
            row = [name.removesuffix(", small")]
            for m, loss in zip(models, losses):
                r = cache.get(f"{name}|{m}")
                if not r:
                    row.append("")
                    continue
                shown = f"{r['loss']:.4f}"
                shown = f"**{shown}**" if loss == min(losses) else shown
                row.append(f"{shown} ({100 * r['error']:.2f} %)")
            lines.append(row)
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    def cost(names, models):
        head = ["table", *models]
        lines = [head, ["---"] * len(head)]
        for name in names:
            cells = [cache.get(f"{name}|{m}") for m in models]
            shown = [f"{c['seconds']:.1f} s, {c['bytes'] / 1e6:.2f} MB" if c else "" for c in cells]
            lines.append([name, *shown])
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    known = {key.split("|")[0] for key in cache}
    main = [n for n in TABLES if n in known and not n.endswith("small")]
    small = [n for n in TABLES if n in known and n.endswith("small")]
    has = [m for m in MAIN if any(f"{n}|{m}" in cache for n in main)]
    parts = ["Log loss in nats (error rate):\n", block(main, ["deciban", *has]), "\nSeconds of the processors for one fit, all cores together, and size of the model:\n"]
    parts.append(cost(main, ["deciban", *has]))
    if small:
        parts += ["\nSmall tables, ten folds:\n", block(small, ["deciban", *SMALL])]
    return "\n".join(parts) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--deciban", default="target/release/deciban")
    parser.add_argument("--cache", type=Path, default=Path("quality.json"))
    parser.add_argument("--page", type=Path)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--models", nargs="*")
    parser.add_argument("--again", action="store_true", help="measure again what is in the cache")
    args = parser.parse_args()
    cache = json.loads(args.cache.read_text()) if args.cache.exists() else {}
    for name in args.only or TABLES:
        small = name.endswith("small")
        for model in args.models or ["deciban", *(SMALL if small else MAIN)]:
            key = f"{name}|{model}"
            if key in cache and not args.again:
                continue
            try:
                found = run(name, model, args.data, args.deciban)
            except (ImportError, ValueError) as error:
                print(f"{name}: {model}: {error}", flush=True)
                continue
            except subprocess.CalledProcessError as error:
                print(f"{name}: {model}: {error.stderr}", flush=True)
                continue
            if found:
                cache[key] = found
                args.cache.write_text(json.dumps(cache, indent=1))
                say = f"{100 * found['error']:.2f} %  {found['loss']:.4f}  {found['seconds']:.1f} s  {found['bytes'] / 1e6:.2f} MB"
                print(f"{name}: {model}: {say}", flush=True)
    text = tables(cache)
    print(text)
    if args.page:
        page = args.page.read_text()
        begin, end = "<!-- tables -->\n", "<!-- end of tables -->"
        before, rest = page.split(begin)
        args.page.write_text(before + begin + "\n" + text + "\n" + end + rest.split(end)[1])


if __name__ == "__main__":
    main()
