"""Ledgers, evaluations and descriptions: what a model says, for people and for programs."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Line(NamedTuple):
    """What a feature says for the first class of a ledger, in decibans."""

    name: str
    value: str
    decibans: float


@dataclass(frozen=True)
class Ledger:
    """A row's evidence for one class over another, or over all others, in decibans.

    Prior odds and features add up to the total, the odds of the posterior. `str` gives a table with bars, `to_frame` a
    data frame of pandas.

    Attributes
    ----------
    row : int
        The number of the row, from 0.
    of, over : label
        The class it speaks for, and the one it is weighed against; None for all others.
    posterior : tuple of float
        The posterior probability of both.
    prior, total : float
        The odds before and after the row is seen.
    features : list of Line
        `name`, `value` and `decibans` of each feature.
    missing : list of str
        Columns that are missing, and say nothing.
    """

    row: int
    of: Any
    over: Any
    posterior: tuple[float, float]
    prior: float
    features: list[Line]
    missing: list[str]
    total: float
    _text: str = field(repr=False, compare=False)

    def __str__(self):
        return self._text

    def __repr__(self):
        over = "the rest" if self.over is None else repr(self.over)
        return f"<Ledger of row {self.row}: {self.of!r} over {over}, {self.total:+.2f} decibans>"

    def to_frame(self):
        """A data frame of pandas: the prior, each feature, and the total."""
        from pandas import DataFrame

        lines = [Line("prior odds", "", self.prior), *self.features, Line("total", "", self.total)]
        return DataFrame(lines, columns=list(Line._fields))

    def _repr_html_(self):
        over = "the rest" if self.over is None else self.over
        title = f"row {self.row}: {self.of} over {over}, posterior {self.posterior[0]:.4g} and {self.posterior[1]:.4g}"
        lines = [Line("prior odds", "", self.prior)]
        lines += sorted(self.features, key=lambda line: -abs(line.decibans))
        lines.append(Line("total", "", self.total))
        longest = max((abs(x) for _, _, x in lines if abs(x) < float("inf")), default=0) or 1
        return (
            f"<div><b>{html.escape(title)}</b><table><thead><tr><th>feature</th><th>value</th><th>decibans</th><th></th></tr>"
            f"</thead>{''.join(_bar(line, longest) for line in lines)}</table></div>"
        )


def _bar(line: Line, longest: float) -> str:
    """A row of the table, with a bar to the left of the middle for what speaks against the class, else to the right."""
    share = min(abs(line.decibans) / longest, 1) if line.decibans == line.decibans else 0
    width, colour = round(60 * share), "#b3502d" if line.decibans < 0 else "#2d6fb3"
    margin = 60 - width if line.decibans < 0 else 60
    bar = f'<div style="margin-left:{margin}px;width:{width}px;height:0.8em;background:{colour}"></div>'
    cells = f"<td>{html.escape(line.name)}</td><td>{html.escape(line.value)}</td>"
    return f'<tr>{cells}<td style="text-align:right">{line.decibans:+.2f}</td><td style="min-width:120px">{bar}</td></tr>'


@dataclass(frozen=True)
class Evaluation:
    """How good a model is on rows whose class is known.

    `str` gives the tables that the program prints; figures are items, as in ``evaluation["cllr"]``.

    Attributes
    ----------
    figures : dict
        Numbers by name, such as "error_rate", "log_loss", "cllr", "recall(Barolo)".
    intervals : dict
        The lower and upper end of each, where they were asked for.
    details : dict
        All that the program writes as JSON: confusion, reliability, each class.
    """

    figures: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    details: dict[str, Any] = field(repr=False)
    _text: str = field(repr=False, compare=False)

    def __getitem__(self, name):
        return self.figures[name]

    def __str__(self):
        return self._text

    def to_frame(self):
        """A data frame of pandas: name, value, and the ends of the intervals."""
        from pandas import DataFrame

        none = (float("nan"), float("nan"))
        rows = [(name, value, *self.intervals.get(name, none)) for name, value in self.figures.items()]
        return DataFrame(rows, columns=["figure", "value", "low", "high"])

    def _repr_html_(self):
        return f"<pre>{html.escape(self._text)}</pre>"


class Worth(NamedTuple):
    """What measuring a missing cell is worth: by how much it is expected to lower the Bayes risk with its standard
    error, what it costs, the quotient of both, the probability that another decision becomes the best one, and whether
    the expectation is a sum over levels or bins, and not a mean over draws."""

    column: str
    reduction: float
    standard_error: float
    cost: float
    per_cost: float
    changes: float
    exact: bool


@dataclass(frozen=True)
class NextMeasurement:
    """What to measure next in a row with missing cells. `str` gives a table, `to_frame` a data frame of pandas.

    Attributes
    ----------
    row : int
        The number of the row, from 0.
    decision : label
        What is decided now.
    risk : float
        What that is expected to cost: the Bayes risk.
    measurements : list of Worth
        The columns whose cell is missing, those most worth their cost first.
    """

    row: int
    decision: Any
    risk: float
    measurements: list[Worth]
    _text: str = field(repr=False, compare=False)

    def __str__(self):
        return self._text

    def to_frame(self):
        """A data frame of pandas, with a row for each missing cell."""
        from pandas import DataFrame

        return DataFrame(self.measurements, columns=list(Worth._fields))

    def _repr_html_(self):
        return f"<pre>{html.escape(self._text)}</pre>"


class AdaptedPrior(dict):
    """How common the classes are among rows: probabilities by label, to be given as `prior`. `str` gives a table.

    Attributes
    ----------
    shares : dict
        The estimated share of each class; the prior keeps each class possible.
    intervals : dict
        Where each share lies, as pairs.
    training : dict
        The shares in the training data.
    """

    def __init__(self, told: dict, labels: dict, text: str):
        by_label = {labels[of["class"]]: of for of in told["classes"]}
        super().__init__({label: of["prior"] for label, of in by_label.items()})
        self.shares = {label: of["share"] for label, of in by_label.items()}
        self.intervals = {label: (of["low"], of["high"]) for label, of in by_label.items()}
        self.training = {label: of["training"] for label, of in by_label.items()}
        self._arguments = (told, labels, text)

    def __str__(self):
        return self._arguments[2]

    def __reduce__(self):
        return AdaptedPrior, self._arguments


class Description(str):
    """A model, written out: a text that notebooks and prompts show as it is."""

    def __repr__(self):
        return str(self)

    def _repr_html_(self):
        return f"<pre>{html.escape(self)}</pre>"


class Report(str):
    """A page of HTML with all figures of an evaluation. It needs no other file, no script and no network."""

    def save(self, path):
        """Writes the page to a file.

        Parameters
        ----------
        path : str or path-like
            Where.
        """
        with open(path, "w", encoding="utf-8") as file:
            file.write(self)

    def __repr__(self):
        return f"<Report of {len(self):,} characters: save it, or show it in a notebook>"

    def _repr_html_(self):
        # A frame of its own: the page has styles that are not for the notebook.
        return f'<iframe srcdoc="{html.escape(self)}" style="width:100%;height:80vh;border:0"></iframe>'
