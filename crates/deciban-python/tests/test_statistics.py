"""Statistics are those of the program: the same files, whoever makes, merges and forgets them."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_wine

from deciban import Classifier, Statistics

X, Y = load_wine(return_X_y=True, as_frame=True)
X, Y = X[["alcohol", "hue", "flavanoids"]], Y.rename("cultivar")
PARTS = [(X[:100:2], Y[:100:2]), (X[1:100:2], Y[1:100:2]), (X[100:], Y[100:])]


def program(folder, *arguments):
    done = subprocess.run([sys.executable, "-m", "deciban", *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("statistics")
    for name, (rows, labels) in zip("abc", PARTS):
        rows.assign(cultivar=labels).to_csv(folder / f"{name}.csv", index=False)
        program(folder, "stats", f"{name}.csv", "--target", "cultivar", "-o", f"{name}.stats")
    X.assign(cultivar=Y).to_csv(folder / "all.csv", index=False)
    return folder


def test_program_to_python_to_program(folder):
    # Statistics of the program, merged here, from which the program fits.
    a, b = Statistics.load(folder / "a.stats"), Statistics.load(folder / "b.stats")
    c = Classifier("gaussian").collect(*PARTS[2])
    whole = a + b + c
    whole.save(folder / "whole.stats")
    program(folder, "fit", "whole.stats", "--model", "gaussian", "--covariance", "tied", "-o", "whole.deciban")
    expected = Classifier("gaussian", covariance="tied").fit(X, Y)
    assert_allclose(Classifier.load(folder / "whole.deciban").evidence(X), expected.evidence(X), rtol=1e-9, atol=1e-9)
    # The program forgets what was collected here, and the rest is fitted here.
    c.save(folder / "collected.stats")
    program(folder, "forget", "whole.stats", "collected.stats", "-o", "rest.stats")
    rest = Classifier("gaussian", covariance="tied").fit_statistics(Statistics.load(folder / "rest.stats"))
    plain = Classifier("gaussian", covariance="tied").fit(X[:100], Y[:100])
    assert rest.classes_.tolist() == plain.classes_.tolist()
    assert_allclose(rest.evidence(X), plain.evidence(X), rtol=1e-6, atol=1e-6)
    # The same files: the program merges its own and this package's.
    program(folder, "merge", "a.stats", "b.stats", "collected.stats", "-o", "merged.stats")
    assert Statistics.load(folder / "merged.stats").rows == whole.rows == Y.value_counts(sort=False).to_dict()
    shown = program(folder, "inspect", "whole.stats")
    assert shown.split(": ", 1)[1].rstrip() == repr(whole).split(": ", 1)[1]


def test_a_file_is_the_same_bytes(folder):
    """What is collected here is what the program collects: classes, columns and numbers."""
    Classifier("gaussian").collect(*PARTS[0]).save(folder / "ours.stats")
    ours, theirs = Statistics.load(folder / "ours.stats"), Statistics.load(folder / "a.stats")
    assert ours.classes == theirs.classes and ours.columns == theirs.columns and ours.rows == theirs.rows
    means = [statistics._core.moments() for statistics in (ours, theirs)]
    for a, b in zip(*means):
        assert_allclose(a, b, rtol=1e-12)


def test_they_add_up():
    model = Classifier("gaussian", covariance="tied")
    parts = [model.collect(*part) for part in PARTS]
    whole = sum(parts)
    direct = Classifier("gaussian", covariance="tied").fit(X, Y)
    assert_allclose(model.fit_statistics(whole).evidence(X), direct.evidence(X), rtol=1e-10, atol=1e-10)
    # Other options of the same statistics, and what they were: `merge` and `forget` change nothing in place.
    diagonal = Classifier("gaussian", covariance="diagonal").fit_statistics(whole)
    assert_allclose(diagonal.evidence(X), Classifier("gaussian", covariance="diagonal").fit(X, Y).evidence(X), rtol=1e-9)
    assert sum(parts[0].rows.values()) == 50 and sum(whole.rows.values()) == 178
    back = whole.forget(parts[2])
    assert back.rows == (parts[0] + parts[1]).rows and 2 not in back.rows
    assert back.merge(parts[2]).rows == whole.rows
    # Those behind a classifier, which takes rows, too.
    of_fit = Classifier("gaussian").fit(*PARTS[0]).statistics()
    assert of_fit.rows == parts[0].rows
    more = Classifier("gaussian", covariance="tied").fit_statistics(parts[0] + parts[1]).partial_fit(*PARTS[2])
    assert_allclose(more.evidence(X), direct.evidence(X), rtol=1e-9, atol=1e-9)


def test_labels_texts_and_levels():
    cells = pd.DataFrame({"fur": ["red", "black", "red", "white"], "age": [1.0, 2.0, 3.0, 4.0]})
    labels = np.array([True, False, True, False])
    model = Classifier("naive-bayes")
    statistics = model.collect(cells, labels)
    assert statistics.classes == [False, True] and statistics.columns == ["fur", "age"]
    fitted = Classifier("naive-bayes").fit_statistics(statistics)
    assert fitted.classes_.tolist() == [False, True]
    assert_allclose(fitted.predict_proba(cells), Classifier("naive-bayes").fit(cells, labels).predict_proba(cells))
    new = model.collect(pd.DataFrame({"fur": ["grey", "red"], "age": [5.0, 8.0]}), [False, True])
    assert_allclose((statistics + new)._core.rows(), [3, 3])
    again = pickle.loads(pickle.dumps(statistics))
    assert again.rows == statistics.rows == copy.deepcopy(statistics).rows == {False: 2, True: 2}
    # Part of the rows may have one class only.
    assert model.collect(cells[:1], labels[:1]).rows == {True: 1}
    mails = ["free prize now", "win a free prize", "see you at home", "dinner at home"]
    words = Classifier("multinomial")
    both = words.collect(mails[:2], ["spam"] * 2) + words.collect(mails[2:], ["ham"] * 2)
    expected = Classifier("multinomial").fit(mails, ["spam", "spam", "ham", "ham"])
    assert_allclose(words.fit_statistics(both).predict_proba(["free home"]), expected.predict_proba(["free home"]))


def test_folds_let_strengths_be_chosen():
    model = Classifier("gaussian", shrinkage="auto", folds=4)
    fitted = Classifier("gaussian", shrinkage="auto", folds=4).fit_statistics(model.collect(X, Y))
    direct = Classifier("gaussian", shrinkage="auto", folds=4).fit(X, Y)
    assert_allclose(fitted.evidence(X), direct.evidence(X), rtol=1e-9)


def test_priors():
    statistics = Classifier("gaussian").collect(X, Y)
    uniform = Classifier("gaussian", prior="uniform").fit_statistics(statistics)
    assert_allclose(uniform.predict_proba(X), Classifier("gaussian", prior="uniform").fit(X, Y).predict_proba(X), rtol=1e-9)


def test_mistakes_are_named(tmp_path):
    statistics = Classifier("gaussian").collect(X, Y)
    with pytest.raises(TypeError, match="make statistics with Classifier.collect"):
        Statistics()
    with pytest.raises(TypeError, match="not with DataFrame"):
        statistics.merge(X)
    with pytest.raises(TypeError):
        statistics + 1
    with pytest.raises(TypeError, match="fit_statistics takes Statistics, not DataFrame"):
        Classifier("gaussian").fit_statistics(X)
    with pytest.raises(AttributeError, match="keeps no statistics"):
        Classifier("logistic").collect(X, Y)
    with pytest.raises(ValueError, match="learns from rows, not from statistics"):
        Classifier("logistic").fit_statistics(statistics)
    with pytest.raises(ValueError, match="scores come from rows"):
        Classifier("gaussian", calibrate="logistic").fit_statistics(statistics)
    with pytest.raises(ValueError, match="different columns"):
        statistics + Classifier("gaussian").collect(X[["hue"]], Y)
    diagonal = Classifier("gaussian", covariance="diagonal").collect(X, Y)
    with pytest.raises(ValueError, match="covariance"):
        Classifier("gaussian", covariance="full").fit_statistics(diagonal)
    with pytest.raises(FileNotFoundError):
        Statistics.load(tmp_path / "none.stats")
    Classifier("gaussian").fit(X, Y).save(tmp_path / "m.deciban")
    with pytest.raises(ValueError, match="model"):
        Statistics.load(tmp_path / "m.deciban")
