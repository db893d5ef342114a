"""`deciban.compare` is the program's `compare`: the same models, figures and tables."""

import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine

import deciban
from deciban import Classifier

FRAME, Y = load_wine(return_X_y=True, as_frame=True)
FRAME = FRAME.rename(columns=lambda name: name.replace("/", "_"))[["alcohol", "hue", "flavanoids"]]
Y = Y.rename("cultivar")
#: Every fourth row is in each group.
GROUP = np.arange(len(Y)) % 4


def program(folder, *arguments, code=0):
    done = subprocess.run([sys.executable, "-m", "deciban", *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compare")
    FRAME.assign(cultivar=Y, patient=GROUP).to_csv(folder / "wine.csv", index=False)
    FRAME[::2].assign(cultivar=Y[::2]).to_csv(folder / "train.csv", index=False)
    FRAME[1::2].assign(cultivar=Y[1::2]).to_csv(folder / "test.csv", index=False)
    return folder


def without_times(text):
    return re.sub(r"\d+\.\d\d s$", "", text, flags=re.MULTILINE)


def same_lines(ours, theirs):
    """All figures but the times."""
    assert [line["model"] for line in ours] == [line["model"] for line in theirs]
    for a, b in zip(ours, theirs, strict=True):
        assert set(a) == set(b)
        for name in set(a) - {"seconds", "model"}:
            if isinstance(b[name], float):
                assert_allclose(a[name], b[name], rtol=1e-9, err_msg=name)
            else:
                assert a[name] == b[name], name


@pytest.mark.parametrize(
    ("keywords", "options"),
    [
        ({}, []),
        ({"models": ["gaussian", "logistic"], "folds": 5, "seed": 3}, ["--models", "gaussian,logistic", "--folds", "5", "--seed", "3"]),
        ({"models": "gaussian", "folds": "leave-one-out"}, ["--models", "gaussian", "--folds", "leave-one-out"]),
        ({"models": "gaussian", "by": "likelihood"}, ["--models", "gaussian", "--by", "likelihood"]),
        ({"models": "logistic", "prior": {0: 0.8}, "costs": {(1, 2): 10}}, ["--models", "logistic", "--prior", "0=0.8", "--costs", "1>2=10"]),
        ({"models": "gaussian", "group": GROUP, "folds": 3}, ["--models", "gaussian", "--group", "patient", "--folds", "3"]),
        ({"models": "gaussian", "fold": GROUP}, ["--models", "gaussian", "--fold", "patient"]),
    ],
)
def test_the_same_as_the_program(folder, keywords, options):
    command = ["compare", "wine.csv", "--target", "cultivar", *options]
    if "group" not in keywords and "fold" not in keywords:
        command += ["--ignore", "patient"]
    comparison = deciban.compare(FRAME, Y, **keywords)
    same_lines(comparison.lines, json.loads(program(folder, *command, "--json")))
    printed = program(folder, *command).rstrip().replace("--top ", "top=")
    assert without_times(str(comparison)) == without_times(printed)


@pytest.mark.parametrize(
    "make",
    [
        lambda table: table,
        pl.from_pandas,
        lambda table: pl.from_pandas(table).lazy(),
        lambda table: table.to_dict("records"),
        lambda table: {name: table[name].tolist() for name in table},
    ],
    ids=["pandas", "polars", "lazy", "records", "columns"],
)
def test_any_table_with_its_target(make):
    table = FRAME.assign(cultivar=Y, patient=GROUP)
    found = deciban.compare(make(table), target="cultivar", group="patient", models="gaussian", folds=4)
    expected = deciban.compare(FRAME, Y, group=GROUP, models="gaussian", folds=4)
    same_lines(found.lines, expected.lines)
    model = found.refit()
    assert_allclose(model.predict_proba(FRAME), expected.refit().predict_proba(FRAME), rtol=1e-12)
    assert model.feature_names_in_.tolist() == FRAME.columns.tolist()


def test_a_path(folder):
    path = folder / "wine.csv"
    found = deciban.compare(path, target="cultivar", ignore="patient", models=["gaussian"])
    expected = deciban.compare(FRAME, Y, models=["gaussian"])
    same_lines(found.lines, expected.lines)
    model = found.refit()
    assert model.classes_.tolist() == [0, 1, 2] and model.ignore == "patient"
    assert_allclose(model.predict_proba(FRAME), expected.refit().predict_proba(FRAME), rtol=1e-9)
    grouped = deciban.compare(str(path), target="cultivar", group="patient", models="gaussian", folds=4)
    same_lines(grouped.lines, deciban.compare(FRAME, Y, group=GROUP, models="gaussian", folds=4).lines)
    for wrong in ({"y": Y}, {}, {"target": "cultivar", "group": GROUP}):
        with pytest.raises(ValueError, match="target|column"):
            deciban.compare(path, **wrong)
    with pytest.raises(FileNotFoundError):
        deciban.compare(folder / "none.csv", target="cultivar")


def test_the_name_of_a_fused_model_repeats_it():
    X, y = load_breast_cancer(return_X_y=True)
    comparison = deciban.compare(X, y, models=["gaussian", "logistic"], folds=4, seed=2)
    name = next(line["model"] for line in comparison.lines if line["model"].startswith("fused"))
    assert name == "fused --models gaussian,logistic --folds 4 --seed 2"
    again = Classifier(**comparison.params(name)).fit(X, y)
    assert_allclose(again.predict_proba(X), comparison.refit(name).predict_proba(X), rtol=1e-9)
    listed = Classifier("fused", models=["gaussian", "logistic"], folds=4, seed=2).fit(X, y)
    assert_allclose(listed.predict_proba(X), again.predict_proba(X), rtol=1e-12)
    with pytest.raises(ValueError, match="there are no two models to fuse"):
        Classifier("fused", models="logistic").fit(X, y)


def test_refit_gives_the_model_of_the_line(folder):
    comparison = deciban.compare(FRAME, Y, models=["gaussian", "logistic"], folds=5)
    names = ["gaussian --covariance tied", "gaussian --covariance full --shrinkage 0.1 --pooling 0.5 --standardise", "logistic --weight-decay 0.1"]
    calibrated = next(line["model"] for line in comparison.lines if "--calibrate" in line["model"])
    for name in [*names, calibrated, None]:
        model = comparison.refit(name)
        params = comparison.params(name)
        assert {key: model.get_params()[key] for key in params} == params
        # The same by the constructor, and by the program's `fit` with the options that the name has.
        again = clone(model).fit(FRAME, Y)
        assert_allclose(again.predict_proba(FRAME), model.predict_proba(FRAME), rtol=1e-6, atol=1e-9)
        options = (name or comparison.best).split()
        program(folder, "fit", "wine.csv", "--target", "cultivar", "--ignore", "patient", "--model", *options, "-o", "m.deciban")
        theirs = Classifier.load(folder / "m.deciban").predict_proba(FRAME)
        assert_allclose(model.predict_proba(FRAME), theirs, rtol=1e-6, atol=1e-9)
    with pytest.raises(ValueError, match="there is no `gaussian` among them: give the name of a line"):
        comparison.refit("gaussian")
    with pytest.raises(KeyError):
        comparison.params("prior")
    by = deciban.compare(FRAME, Y, models="gaussian", by="likelihood")
    assert by.refit().model == "gaussian" and by.best == by.lines[0]["model"]


def test_the_object():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    comparison = deciban.compare(X.iloc[:, :3], y, models=["gaussian", "least-squares"], folds=5)
    frame = comparison.to_frame()
    assert list(frame["model"]) == [line["model"] for line in comparison.lines] and len(frame) == len(comparison)
    # Ranked by log loss, beside what the class shares alone give.
    assert frame["log_loss"].is_monotonic_increasing and "prior only" in set(frame["model"])
    shares = y.mean()
    entropy = -shares * np.log(shares) - (1 - shares) * np.log(1 - shares)
    assert_allclose(comparison["prior only"]["log_loss"], entropy, rtol=1e-3)
    assert {"auc", "cllr", "min_cllr", "error_rate", "brier"} <= set(frame.columns)
    data = comparison.to_dict()
    assert data["best"] == comparison.best == data["models"][0]["model"]
    assert json.loads(json.dumps(data)) == data
    assert repr(comparison) == str(comparison) and str(comparison).startswith("model")
    shown = comparison._repr_html_()
    assert shown.count("<tr>") == min(len(comparison), 20) + 1 and "log loss" in shown
    short = deciban.compare(X.iloc[:, :3], y, models="gaussian", folds=5, top=2)
    assert len(short.lines) > 2 and re.search(r"\.\.\. and \d+ more: top=\d+", str(short))


def test_remarks_are_warnings():
    noise = np.random.default_rng(1)
    X, y = noise.normal(size=(60, 2)), noise.permutation(np.repeat([0, 1], 30))
    with pytest.warns(UserWarning, match="no better than the class shares"):
        comparison = deciban.compare(X, y, models="gaussian", folds=3)
    assert any("no better" in remark for remark in comparison.remarks)


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="there is no model `forest`"):
        deciban.compare(FRAME, Y, models="forest")
    with pytest.raises(ValueError, match="folds: give a number from 2 to 1000, auto, or leave-one-out"):
        deciban.compare(FRAME, Y, folds=1)
    with pytest.raises(ValueError, match='by: give "log-loss" or "likelihood"'):
        deciban.compare(FRAME, Y, by="accuracy")
    with pytest.raises(ValueError, match="makes no decisions: drop prior, costs and reject"):
        deciban.compare(FRAME, Y, by="likelihood", prior="uniform", models="gaussian")
    with pytest.raises(ValueError, match="drop group, fold and equal_together"):
        deciban.compare(FRAME, Y, group=GROUP, folds="leave-one-out")
    with pytest.raises(ValueError, match="give group or fold, not both"):
        deciban.compare(FRAME, Y, group=GROUP, fold=GROUP)
    with pytest.raises(ValueError, match="there is no column 'kind'"):
        deciban.compare(FRAME, target="kind")
    with pytest.raises(ValueError, match="not both"):
        deciban.compare(FRAME.assign(y=Y), Y, target="y")
    with pytest.raises(ValueError, match="group: row 2 has none"):
        deciban.compare(FRAME, Y, group=[0, 1, None] + [1] * (len(Y) - 3))
    with pytest.raises(TypeError, match="fold_count"):
        deciban.compare(FRAME, Y, fold_count=3)


def test_fitted_models(folder):
    train, test = (FRAME[::2], Y[::2]), (FRAME[1::2], Y[1::2])
    for covariance in ("tied", "full"):
        command = ["fit", "train.csv", "--target", "cultivar", "--covariance", covariance, "-o", f"{covariance}.deciban"]
        program(folder, *command)
    models = {f"{name}.deciban": Classifier("gaussian", covariance=name).fit(*train) for name in ("tied", "full")}
    theirs = json.loads(program(folder, "compare", "tied.deciban", "full.deciban", "test.csv", "--json"))
    ours = deciban.compare(*test, models=models)
    assert ours.best == theirs[0]["model"] and [line["model"] for line in ours.lines] == [line["model"] for line in theirs]
    for a, b in zip(ours.lines, theirs, strict=True):
        assert_allclose([a["log_loss"], a["errors"], a["cllr"]], [b["log_loss"], b["errors"], b["cllr"]], rtol=1e-9)
        assert a["confusion"] == b["confusion"]
        for figure in ("log_loss", "brier", "cllr"):
            found, expected = a["worse_than_best"][figure], b["worse_than_best"][figure]
            assert_allclose(found["interval"], expected["interval"], rtol=1e-7, atol=1e-12)
    assert str(ours) == program(folder, "compare", "tied.deciban", "full.deciban", "test.csv").rstrip()
    frame = ours.to_frame()
    assert frame["worse_than_best"][0] == 0 and frame["worse_than_best"][1] > 0 and {"low", "high", "p_value"} <= set(frame)
    # The loss is what the predictions give.
    chosen = models[ours.best].predict_proba(test[0])[np.arange(len(test[1])), test[1]]
    assert_allclose(ours.lines[0]["log_loss"], -np.log(chosen).mean(), rtol=1e-9)
    # Model files and rows in a file, and names that are made.
    by_path = deciban.compare(folder / "test.csv", models=[folder / "tied.deciban", str(folder / "full.deciban")])
    assert_allclose([line["log_loss"] for line in by_path.lines], [line["log_loss"] for line in ours.lines], rtol=1e-9)
    named = deciban.compare(*test, models=list(models.values()) + [models["tied.deciban"]])
    assert {line["model"] for line in named.lines} == {
        "Classifier('gaussian', covariance='tied')",
        "Classifier('gaussian', covariance='full')",
        "Classifier('gaussian', covariance='tied') #2",
    }
    with pytest.raises(ValueError, match="these models are fitted already"):
        ours.refit()
    for learning in ({"folds": 5}, {"group": GROUP[1::2]}, {"ignore": ["hue"]}, {"by": "likelihood"}):
        with pytest.raises(ValueError, match=f"{next(iter(learning))} is for learning"):
            deciban.compare(*test, models=models, **learning)
    with pytest.raises(ValueError, match="give at least two fitted models"):
        deciban.compare(*test, models=models["tied.deciban"])
    with pytest.raises(deciban.NotFittedError):
        deciban.compare(*test, models=[models["tied.deciban"], Classifier("gaussian")])
    two = Classifier("gaussian").fit(FRAME[Y < 2], Y[Y < 2])
    with pytest.raises(ValueError, match="the model knows|only the same can be compared"):
        deciban.compare(*test, models=[models["tied.deciban"], two])


def test_weights_count_rows():
    twice = pd.concat([FRAME, FRAME[:60]]), pd.concat([Y, Y[:60]])
    weights = np.where(np.arange(len(Y)) < 60, 2.0, 1.0)
    models = {"tied": Classifier("gaussian", covariance="tied").fit(FRAME, Y), "full": Classifier("gaussian").fit(FRAME, Y)}
    a, b = deciban.compare(*twice, models=models), deciban.compare(FRAME, Y, models=models, sample_weight=weights)
    assert_allclose([line["log_loss"] for line in a.lines], [line["log_loss"] for line in b.lines], rtol=1e-9)
