"""Figures of log-likelihood ratios and probabilities, with matplotlib, which must be installed.

Each draws into `ax`, or into a new figure, and returns the axes. LLRs are natural logarithms; `y` is 1 for the
target class.
"""

from __future__ import annotations

import numpy as np

from . import evaluate


def roc(llr, y, ax=None, sample_weight=None, label=None):
    """The share of targets that are found over the share of others that are taken for targets."""
    curve, ax = evaluate.roc(llr, y, sample_weight), _axes(ax)
    area = evaluate.auc(llr, y, sample_weight)
    ax.plot(curve["false_alarm"], 1 - curve["miss"], label=label or f"AUC {area:.3f}")
    ax.plot([0, 1], [0, 1], color="grey", linewidth=0.8, linestyle=":")
    return _finish(ax, "ROC", "false alarms", "targets found")


def bayes_error(llr, y, ax=None, log_odds=None, sample_weight=None):
    """Error rates over the prior log-odds of the target, in decibans: of the LLRs as they are, at the best
    threshold, and of deciding by the prior alone."""
    curve, ax = evaluate.bayes_error_curve(llr, y, log_odds, sample_weight), _axes(ax)
    decibans = curve["log_odds"] * 10 / np.log(10)
    for name, style in (("actual", "-"), ("minimum", "--"), ("default", ":")):
        ax.plot(decibans, curve[name], linestyle=style, label=name)
    return _finish(ax, "Bayes error", "prior log-odds of the target (decibans)", "error rate")


def reliability(probabilities, y, ax=None, bins=10, sample_weight=None, label=None):
    """How often the target came true over how probable it was said to be; areas of dots are the rows behind them."""
    curve, ax = evaluate.reliability(probabilities, y, bins, sample_weight), _axes(ax)
    largest = curve["weight"].max() if len(curve["weight"]) else 1.0
    told = label or f"calibration error {curve['error']:.3f}"
    ax.plot(curve["mean"], curve["share"], linewidth=0.8, label=told)
    ax.scatter(curve["mean"], curve["share"], s=80 * curve["weight"] / largest)
    ax.plot([0, 1], [0, 1], color="grey", linewidth=0.8, linestyle=":")
    return _finish(ax, "Reliability", "probability of the target", "share of targets")


def llrs(llr, y, ax=None, bins=40):
    """Histograms of the LLRs of targets and of others, in decibans. Infinite LLRs are left out, and so are a few
    that lie so far off that the others would be pressed together; the title counts both."""
    evaluate.auc(llr, y)  # the same checks as elsewhere
    llr, y, ax = np.asarray(llr, dtype=np.float64), np.asarray(y), _axes(ax)
    decibans = llr * 10 / np.log(10)
    finite = np.isfinite(decibans)
    low, high = _view(decibans[finite])
    shown = finite & (decibans >= low) & (decibans <= high)
    edges = np.histogram_bin_edges(decibans[shown], bins)
    for name, rows in (("others", y == 0), ("targets", y == 1)):
        ax.hist(decibans[shown & rows], edges, alpha=0.6, label=name)
    counts = ((~finite).sum(), "infinite"), ((finite & ~shown).sum(), "outside the axis")
    notes = [f"{count} {what}" for count, what in counts if count]
    return _finish(ax, f"Evidence ({', '.join(notes)})" if notes else "Evidence", "LLR (decibans)", "rows")


def _view(values, share=0.01):
    """The ends of an axis, by the rule of the program's pictures: beyond three interquartile ranges from the quartiles,
    at most a share of the values (or one) is left out on either side, and only where the others would fill less
    than two fifths of the axis."""
    values = np.sort(values)
    n = len(values)
    if n < 8:
        return (values[0], values[-1]) if n else (0.0, 1.0)
    few = min(max(int(n * share), 1), n // 4)
    first, third = values[n // 4], values[n - 1 - n // 4]
    reach = 3 * (third - first)
    low, high = min(values[few], first - reach), max(values[n - 1 - few], third + reach)
    inside = values[(values >= low) & (values <= high)]
    flattened = 0 < inside[-1] - inside[0] < 0.4 * (values[-1] - values[0])
    return (inside[0], inside[-1]) if flattened else (values[0], values[-1])


def _axes(ax):
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("deciban.plot draws with matplotlib: pip install matplotlib") from None
    return plt.subplots()[1]


def _finish(ax, title, x, y):
    ax.set(title=title, xlabel=x, ylabel=y)
    ax.legend()
    return ax
