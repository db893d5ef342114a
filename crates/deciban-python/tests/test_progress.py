"""Long work shows how far it has come, where a person waits for it."""

import subprocess
import sys
import types

import numpy as np
import pytest

import deciban
from deciban import Classifier, _progress

RNG = np.random.default_rng(5)
X, Y = RNG.normal(size=(400, 6)), RNG.integers(0, 3, 400)
X[:, 0] += Y


@pytest.fixture
def screen(monkeypatch, capsys):
    """What standard error shows since the last look, where nothing waits."""
    monkeypatch.setattr(_progress, "PATIENCE", 0.0)
    return lambda: capsys.readouterr().err


@pytest.fixture
def long():
    """Rows that take more than a tenth of a second."""
    rows = RNG.normal(size=(300_000, 30))
    return rows, (rows[:, 0] + rows[:, 1] ** 2 + RNG.normal(size=len(rows)) > 0.5).astype(int)


def test_when_it_is_shown(monkeypatch):
    assert _progress.is_wanted(True) and not _progress.is_wanted(False)
    assert not _progress.is_wanted(None)  # as in scripts
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    assert not _progress.is_wanted(None)  # standard error is not a terminal
    monkeypatch.setattr(sys, "stderr", types.SimpleNamespace(isatty=lambda: True))
    assert _progress.is_wanted(None)
    with pytest.raises(ValueError, match="progress: give True, False or None"):
        Classifier("gaussian", progress="yes").fit(X, Y)


def test_a_line_of_a_terminal():
    line = _progress.line("comparing", 3, 1000, 6, 24, 2.4)
    assert line == f"comparing {'█' * 6}{'░' * 18} 6/24, 2 s"
    assert _progress.line("learning", 3, 45_000, 0, 0, 2.4) == "learning: 3 passes, 45,000 rows, 2 s"
    assert _progress.line("learning", 1, 5, 0, 0, 0.0).startswith("learning: 1 pass,")


def test_a_search_counts_models(screen, long):
    comparison = deciban.compare(long[0][:, :5], long[1], models=["naive-bayes", "least-squares"], folds=10, progress=True)
    lines = screen().split("\r")
    counted = [tuple(map(int, line.split()[2].rstrip(",").split("/"))) for line in lines if "/" in line]
    made = ("--calibrate", "fused")
    candidates = sum(not any(word in line["model"] for word in made) for line in comparison.lines)
    # Every candidate, and the class shares alone, without each of ten folds.
    assert counted and {expected for _, expected in counted} == {10 * candidates}
    assert [done for done, _ in counted] == sorted(done for done, _ in counted)
    # What was shown is gone at the end.
    assert lines[-1] == "" and lines[-2].strip() == ""


def test_a_fit_counts_passes(screen, long):
    Classifier("logistic", progress=True, n_jobs=1, solver="lbfgs").fit(*long)
    shown = screen()
    assert "learning: " in shown and "passes" in shown
    Classifier("logistic", progress=False, n_jobs=1, solver="lbfgs").fit(*long)
    Classifier("logistic", n_jobs=1, solver="lbfgs").fit(*long)
    assert screen() == ""


def test_ledgers_are_counted(screen):
    model = Classifier("naive-bayes", progress=True).fit({f"c{j}": X[:, j] for j in range(6)}, Y)
    rows = {f"c{j}": np.tile(X[:, j], 100) for j in range(6)}
    plain = Classifier("naive-bayes").fit({f"c{j}": X[:, j] for j in range(6)}, Y)
    assert [line.total for line in model.explain(rows)] == [line.total for line in plain.explain(rows)]


def test_a_callback_that_fails_ends_the_work(monkeypatch, long):
    class Broken(_progress.Progress):
        def __call__(self, *counted):
            raise RuntimeError("the screen is gone")

    monkeypatch.setattr(_progress, "Progress", Broken)
    with pytest.raises(RuntimeError, match="the screen is gone"):
        Classifier("logistic", progress=True, n_jobs=1, solver="gradient").fit(*long)


def test_notebooks(monkeypatch, screen):
    """A bar of tqdm where it is installed, or else a line."""
    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    assert _progress.is_wanted(None)
    shown = []

    class Bar:
        total, n = None, 0

        def __init__(self, desc, leave):
            assert desc == "comparing" and not leave

        def set_postfix_str(self, text, refresh):
            self.text = text

        def refresh(self):
            shown.append((self.n, self.total, self.text))

        def close(self):
            shown.append("closed")

    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Bar))
    with _progress.watch(None, "comparing") as report:
        report(1, 100, 2, 8)
        report(2, 200, 8, 8)
    assert shown == [(2, 8, "1 passes"), (8, 8, "2 passes"), "closed"] and screen() == ""
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with _progress.watch(None, "comparing") as report:
        report(1, 100, 2, 8)
    assert "comparing ██████░" in screen()


def test_scripts_are_quiet():
    code = "import numpy as np, deciban; deciban.compare(np.random.default_rng(0).normal(size=(2000, 12)), np.arange(2000) % 3)"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "" and done.stdout == ""
