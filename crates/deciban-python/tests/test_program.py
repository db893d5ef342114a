"""A table is the same to the package and to the program: the same kinds, levels and words, the same model."""

import csv
import io
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from deciban import Classifier

#: tests/python.rs names the program that cargo has built.
PROGRAM = os.environ.get("DECIBAN_PROGRAM")
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="the program is not built")

RNG = np.random.default_rng(11)
N = 300
SPAM = RNG.random(N) < 0.4
WORDS = np.array("free win prize now call £1000 meet you later home Dinner DON'T ok, thanks!!! naïve".split())
ODDS = np.where(np.arange(len(WORDS)) < 6, 4.0, 1.0)


def message(is_spam):
    share = ODDS if is_spam else 1 / ODDS
    return " ".join(RNG.choice(WORDS, RNG.integers(3, 9), p=share / share.sum()))


TABLE = pd.DataFrame(
    {
        "message": [message(is_spam) for is_spam in SPAM],
        "length": RNG.normal(40 + 20 * SPAM, 10).round(2),
        "known": RNG.random(N) < 0.7 - 0.4 * SPAM,
        "from": np.where(RNG.random(N) < 0.1, None, RNG.choice(["home", "work", "else"], N)),
        "day": pd.Timestamp("2024-02-27") + pd.to_timedelta(RNG.integers(0, 5, N) + 3 * SPAM, unit="D"),
    }
)
Y = pd.Series(np.where(SPAM, "spam", "ham"), name="class")


def run(folder, *arguments):
    done = subprocess.run([PROGRAM, *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("program")
    table = TABLE.assign(**{"class": Y})
    table.to_csv(folder / "pandas.csv", index=False)  # True and False
    pl.from_pandas(table).write_csv(folder / "polars.csv")  # true and false
    table.astype({"from": "category"}).to_parquet(folder / "typed.parquet")  # flags and dates by type
    return folder


def test_the_module_is_the_program(folder):
    """``python -m deciban`` runs the same code."""
    arguments = ["fit", "pandas.csv", "--target", "class", "--model", "naive-bayes", "-o", "module.deciban"]
    done = subprocess.run([sys.executable, "-m", "deciban", *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    run(folder, *arguments[:-1], "program.deciban")
    shown = [run(folder, "inspect", name) for name in ("module.deciban", "program.deciban")]
    assert shown[0] == shown[1]
    usage = subprocess.run([sys.executable, "-m", "deciban", "fit"], capture_output=True, text=True)
    assert usage.returncode == 2


def by_class(model, scores):
    return scores[:, np.argsort(model.classes_)]


@pytest.mark.parametrize("name", ["pandas.csv", "polars.csv", "typed.parquet"])
@pytest.mark.parametrize("model", ["naive-bayes", "logistic"])
def test_the_same_model(folder, name, model):
    run(folder, "fit", name, "--target", "class", "--model", model, "-o", "program.deciban")
    theirs, ours = Classifier.load(folder / "program.deciban"), Classifier(model).fit(TABLE, Y)
    assert_array_equal(sorted(theirs.classes_), ours.classes_)
    assert theirs._model.columns == ours._model.columns
    kinds = {"message": "text", "length": "number", "known": "category", "from": "category", "day": "number"}
    assert dict(ours._model.columns) == kinds
    for place, (column, kind) in enumerate(ours._model.columns):
        levels = [model._model.levels(place) for model in (theirs, ours)]
        # Flags are written in several ways; all are known.
        assert [level.lower() for level in levels[0]] == levels[1] if column == "known" else levels[0] == levels[1]
    expected = ours.evidence(TABLE)
    # A logistic model stops close to the optimum, not at it.
    rtol = 1e-9 if model == "naive-bayes" else 1e-4
    assert_allclose(by_class(theirs, theirs.evidence(TABLE)), expected, rtol=rtol, atol=1e-9)
    for make in (pl.DataFrame(TABLE), TABLE.to_dict("list"), TABLE.astype({"message": object})):
        again = Classifier(model).fit(make, Y)
        assert_allclose(again.evidence(make), expected, rtol=rtol, atol=1e-9)


@pytest.mark.parametrize("name", ["pandas.csv", "polars.csv", "typed.parquet"])
def test_the_program_uses_our_model(folder, name):
    ours = Classifier("naive-bayes").fit(pl.DataFrame(TABLE), Y)
    ours.save(folder / "ours.deciban")
    rows = list(csv.DictReader(io.StringIO(run(folder, "predict", "ours.deciban", name))))
    told = np.array([[float(row[f"p({label})"]) for label in ours.classes_] for row in rows])
    assert_allclose(told, ours.predict_proba(TABLE), rtol=0, atol=2e-6)  # it prints six digits
    assert "dinner" in run(folder, "inspect", "ours.deciban")


@pytest.mark.parametrize(
    "name, arguments, describes",
    [
        ("plain", ["--model", "naive-bayes"], True),
        ("mixture", ["--model", "naive-bayes", "--components", "2"], True),
        ("calibrated", ["--model", "naive-bayes", "--calibrate", "logistic"], True),
        ("fused", ["--model", "fused", "--models", "naive-bayes,logistic"], True),
        ("linear", ["--model", "logistic"], False),
        ("complement", ["--model", "multinomial", "--complement", "--columns", "message"], False),
    ],
)
def test_the_same_models_describe_rows(folder, name, arguments, describes):
    """One rule for the program and the package: the same densities, ranks and rows, or the same refusal."""
    path = f"{name}.deciban"
    run(folder, "fit", "pandas.csv", "--target", "class", "-o", path, *arguments)
    model = Classifier.load(folder / path)
    rows = TABLE[[column for column, _ in model._model.columns]].iloc[:20]
    rows.to_csv(folder / "few.csv", index=False)
    predict = [PROGRAM, "predict", path, "few.csv", "--density"]
    if not describes:
        done = subprocess.run(predict, cwd=folder, capture_output=True, text=True)
        why = done.stderr.strip().removeprefix("deciban: --density: ")
        assert done.returncode == 2 and why != done.stderr.strip()
        why = why.replace("--model naive-bayes", 'model="naive-bayes"').replace("--model gaussian", 'model="gaussian"')
        for ask in (model.log_density, model.how_usual, lambda rows: model.decide(rows, none_of_these=0.1)):
            with pytest.raises(ValueError) as refused:
                ask(rows)
            assert str(refused.value) == why.replace("--complement", "complement")
        with pytest.raises(ValueError) as refused:
            model.sample(2)
        assert str(refused.value) == why.replace("--complement", "complement")
        return
    told = list(csv.DictReader(io.StringIO(run(folder, *predict[1:], "--none-of-these", "0.3"))))
    assert_allclose(model.log_density(rows), [float(row["log p(x)"]) for row in told], rtol=1e-12)
    assert_array_equal(model.how_usual(rows), [float(row["rank"]) for row in told])
    assert model.decide(rows, none_of_these=0.3).tolist() == [row["decision"] for row in told]
    drawn = list(csv.DictReader(io.StringIO(run(folder, "sample", path, "-n", "5", "--seed", "3"))))
    found, classes = model.sample(5, seed=3)
    assert list(classes) == [row["class"] for row in drawn]
    assert_allclose(np.asarray(found["length"], float), [float(row["length"]) for row in drawn], rtol=1e-12)


@pytest.mark.parametrize(
    "options, arguments",
    [
        ({"ngrams": "1..2"}, ["--ngrams", "1..2"]),
        ({"characters": True, "ngrams": (2, 3)}, ["--characters", "--ngrams", "2..3"]),
        ({"case": True, "no_symbols": True}, ["--case", "--no-symbols"]),
        ({"min_length": 3}, ["--min-length", "3"]),
        ({"hashed_bits": 8}, ["--hashed-bits", "8"]),
        ({"min_count": 120}, ["--min-count", "120"]),
    ],
)
def test_options_of_texts(folder, options, arguments):
    words = ["--ignore", "length", "--ignore", "known", "--ignore", "from", "--ignore", "day"]
    command = ["fit", "pandas.csv", "--target", "class", "--model", "multinomial", "-o", "words.deciban"]
    run(folder, *command, *words, *arguments)
    theirs = Classifier.load(folder / "words.deciban")
    ours = Classifier("multinomial", **options).fit(TABLE[["message"]], Y)
    plain = Classifier("multinomial").fit(TABLE[["message"]], Y).evidence(TABLE[["message"]])
    found = ours.evidence(TABLE[["message"]])
    assert_allclose(by_class(theirs, theirs.evidence(TABLE[["message"]])), found, rtol=1e-9)
    assert not np.allclose(found, plain, rtol=1e-3)
    # What was learned is used with the same words by others, and in parts.
    parts = Classifier("multinomial", **options).fit(TABLE[["message"]][:100], Y[:100])
    assert_allclose(parts.partial_fit(TABLE[["message"]][100:], Y[100:]).evidence(TABLE[["message"]]), found, rtol=1e-9)
