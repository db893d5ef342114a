"""Reports are the pages that `deciban evaluate --report` writes."""

import copy
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_wine

from deciban import Classifier


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_the_page_of_the_program(load, tmp_path):
    X, y = load(return_X_y=True, as_frame=True)
    X, y = X.iloc[:, :4].rename(columns=lambda name: name.replace(" ", "_")), y.rename("class")
    model = Classifier("gaussian").fit(X[::2], y[::2])
    model.save(tmp_path / "m.deciban")
    X[1::2].assign(**{"class": y[1::2]}).to_csv(tmp_path / "test.csv", index=False)
    options = ["--report", "theirs.html", "--prior", "uniform", "--costs", "0>1=5"]
    command = [sys.executable, "-m", "deciban", "evaluate", "m.deciban", "test.csv", *options]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    title, ours = "m.deciban on test.csv", tmp_path / "ours.html"
    page = model.report(X[1::2], y[1::2], ours, prior="uniform", costs={(0, 1): 5}, title=title)
    assert page == ours.read_text(encoding="utf-8") == (tmp_path / "theirs.html").read_text(encoding="utf-8")
    assert page.count("<svg") > 5 and "at a cost" in page


def test_rows_that_the_model_was_fitted_on_are_told(tmp_path):
    X, y = load_wine(return_X_y=True, as_frame=True)
    known, new = (X[::2], y[::2]), (X[1::2], y[1::2])
    turned = (X[::2].iloc[::-1, ::-1], y[::2][::-1])
    for model in (Classifier("gaussian"), Classifier("logistic"), Classifier(effort="quick"), Classifier("parzen", calibrate="pav")):
        model.fit(*known).save(tmp_path / "m.deciban")
        for fitted in (model, Classifier.load(tmp_path / "m.deciban"), copy.deepcopy(model)):
            for rows in (known, turned):
                with pytest.warns(UserWarning, match="the model was fitted on these rows: its figures are too good"):
                    fitted.evaluate(*rows)
                assert "the model was fitted on these rows" in fitted.report(*rows)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                fitted.evaluate(*new)
            assert "fitted on" not in fitted.report(*new)
    # Rows of a file, of an array without names, and of a sparse array are recognised, too.
    table = X.assign(kind=y)
    table[::2].to_csv(tmp_path / "known.csv", index=False)
    with pytest.warns(UserWarning, match="fitted on these rows"):
        model.evaluate(tmp_path / "known.csv", "kind")
    plain = Classifier("gaussian", covariance="tied").fit(X[::2].to_numpy(), y[::2])
    with pytest.warns(UserWarning, match="fitted on these rows"):
        plain.evaluate(X[::2].to_numpy(), y[::2])
    words = sp.csr_array(np.random.default_rng(0).poisson(0.3, (300, 40)) * 0.5)
    labels = np.arange(300) % 2
    counted = Classifier("multinomial").fit(words[:200], labels[:200])
    with pytest.warns(UserWarning, match="fitted on about [67][0-9]"):
        counted.evaluate(words, labels)


def test_the_object(tmp_path):
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = Classifier("gaussian", covariance="tied").fit(X[::2], y[::2])
    page = model.report(X[1::2], y[1::2])
    assert "<h1>Classifier('gaussian', covariance='tied') on 89 rows</h1>" in page
    shown = page._repr_html_()
    assert shown.startswith("<iframe srcdoc=") and "<h1>" not in shown and "&lt;h1&gt;" in shown
    assert len(repr(page)) < 100
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    with pytest.raises(ValueError, match="the model knows"):
        model.report(X, y + 1)
    # A title is a text, not HTML.
    assert "<h1>&lt;b&gt;</h1>" in model.report(X, y, title="<b>")
