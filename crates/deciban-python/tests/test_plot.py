"""Figures show the numbers of `deciban.evaluate`."""

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose

from deciban import evaluate, plot

matplotlib.use("Agg")

RNG = np.random.default_rng(2)
Y = RNG.integers(0, 2, 300)
LLR = RNG.normal(size=300) + 2 * Y - 1


def test_figures_show_the_figures():
    curve = evaluate.bayes_error_curve(LLR, Y)
    lines = plot.bayes_error(LLR, Y).lines
    for line, name in zip(lines, ("actual", "minimum", "default"), strict=True):
        assert_allclose(line.get_ydata(), curve[name])
    # 14 nats are 60.8 decibans from end to end.
    assert_allclose(np.ptp(lines[0].get_xdata()), 140 / np.log(10))
    assert_allclose(plot.roc(LLR, Y).lines[0].get_ydata(), 1 - evaluate.roc(LLR, Y)["miss"])
    p = 1 / (1 + np.exp(-LLR))
    assert_allclose(plot.reliability(p, Y).lines[0].get_ydata(), evaluate.reliability(p, Y)["share"])
    counts = [patch.get_height() for patch in plot.llrs(LLR, Y).patches]
    assert sum(counts) == 300
    axes = matplotlib.pyplot.subplots()[1]
    assert plot.roc(LLR, Y, ax=axes) is axes
    matplotlib.pyplot.close("all")
    with pytest.raises(ValueError):
        plot.llrs(LLR, Y + 1)


def test_one_outlier_does_not_flatten_the_histogram_of_llrs():
    rng = np.random.default_rng(1)
    y = np.arange(400) % 2
    llr = rng.normal(4.0 * y - 2, 1.5)
    plain = plot.llrs(llr, y)
    llr[7], llr[8] = 5000.0, np.inf
    ax = plot.llrs(llr, y)
    assert ax.get_title() == "Evidence (1 infinite, 1 outside the axis)" and plain.get_title() == "Evidence"
    assert ax.get_xlim()[1] < 50 and sum(patch.get_height() for patch in ax.patches) == 398
