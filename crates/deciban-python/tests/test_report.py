"""Reports are the pages that `deciban evaluate --report` writes."""

import subprocess
import sys

import pytest
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
