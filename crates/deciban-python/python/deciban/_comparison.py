"""Comparisons of models: a search that is cross-validated, and fitted models judged by the same rows."""

from __future__ import annotations

import errno
import html
import json
import os
import warnings

from . import _application, _core, _frame, _labels, _options, _progress
from ._classifier import Classifier, RemarkWarning

#: Lines of a comparison that are printed.
LINES = 20


class Comparison:
    """Models, compared by the same rows; the best is first.

    `str` gives the table that ``deciban compare`` prints, and ``comparison["gaussian --covariance tied"]`` the figures
    of one model. The name of a cross-validated model holds the options with which ``deciban fit`` makes it.

    Attributes
    ----------
    best : str
        The name of the best model.
    lines : list of dict
        The figures of each model, the best first. "prior only" are the class shares alone, which a model must beat.
    remarks : list of str
        Notes and warnings about columns and models. Warnings are also given as Python warnings.
    """

    def __init__(self, best, lines, text, remarks=(), refit=None):
        self.best, self.lines, self.remarks = best, lines, list(remarks)
        self._text, self._refit = text, refit

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, name):
        for line in self.lines:
            if line["model"] == name:
                return line
        raise KeyError(name)

    def __str__(self):
        return self._text

    __repr__ = __str__

    def to_dict(self):
        """The comparison as plain data.

        Returns
        -------
        dict
            The name of the best model as "best", and the figures of all as "models".
        """
        return {"best": self.best, "models": [dict(line) for line in self.lines]}

    def to_frame(self):
        """A data frame of pandas: a row for each model, a column for each figure that is a number."""
        from pandas import DataFrame

        return DataFrame([_flat(line) for line in self.lines])

    def params(self, model=None):
        """The arguments of `Classifier` that make a model of this comparison.

        Parameters
        ----------
        model : str, optional
            The name of a line; the best by default.

        Returns
        -------
        dict
            Values by name, such as ``{"model": "logistic", "weight_decay": 1.0}``.
        """
        self._search("params")
        return params_of(self.best if model is None else self[model]["model"])

    def refit(self, model=None):
        """Learns a model of this comparison from all its rows.

        Parameters
        ----------
        model : str, optional
            The name of a line; the best by default.

        Returns
        -------
        Classifier
            A fitted classifier. Its parameters are those of the model, so that it can be cloned and fitted again.
        """
        return self._search("refit")(self, model)

    def _search(self, what):
        if self._refit is None:
            raise ValueError(f"{what}: these models are fitted already, and were compared as they are")
        return self._refit

    def _repr_html_(self):
        shown = [_flat(line) for line in self.lines[:LINES]]
        names = ["model", *(name for name in COLUMNS if any(name in line for line in shown))]
        head = "".join(f"<th>{html.escape(name.replace('_', ' '))}</th>" for name in names)
        rows = "".join(f"<tr>{''.join(_cell(line.get(name)) for name in names)}</tr>" for line in shown)
        rest = len(self.lines) - len(shown)
        more = f"<p>and {rest} more</p>" if rest > 0 else ""
        return f"<div><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}</div>"


#: The figures that notebooks show.
COLUMNS = ("errors", "error_rate", "log_loss", "log_loss_error", "brier", "expected_cost", "cllr", "min_cllr", "auc",
           "worse_than_best", "worse_than_best_error", "log_likelihood", "p_value")


def _flat(line: dict) -> dict:
    """The figures of a line that are numbers, and its name first."""
    found = {"model": line["model"]}
    for name, value in line.items():
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            found[name] = value
    worse = line.get("worse_than_best")
    if isinstance(worse, dict):
        loss = worse["log_loss"]
        found["worse_than_best"], (found["low"], found["high"]) = loss["difference"], loss["interval"]
        found["p_value"], found["mcnemar_p_value"] = loss["p_value"], worse["mcnemar"]["p_value"]
    return found


def _cell(value) -> str:
    if isinstance(value, str):
        return f'<td style="text-align:left">{html.escape(value)}</td>'
    return f"<td>{'' if value is None else f'{value:.4g}'}</td>"


def params_of(name: str) -> dict:
    """The arguments of `Classifier` behind the name of a candidate, which are options of the command line."""
    model, *words = name.split()
    found: dict = {"model": model}
    while words:
        option = words.pop(0).removeprefix("--").replace("-", "_")
        value = words.pop(0) if words and not words[0].startswith("--") else True
        found[option] = value if value is True else _value(value)
    return found


def _value(text: str):
    """A number, or a text that is not a number."""
    for make in (int, float):
        try:
            return make(text)
        except ValueError:
            pass
    return text


def compare(
    X,
    y=None,
    *,
    target=None,
    models=None,
    folds="auto",
    effort="normal",
    by="log-loss",
    seed=0,
    group=None,
    fold=None,
    equal_together=False,
    sample_weight=None,
    prior=None,
    costs=None,
    reject=None,
    top=LINES,
    n_jobs=None,
    progress=None,
    number=None,
    category=None,
    flag=None,
    count=None,
    text=None,
    ignore=None,
    missing=None,
    ngrams=None,
    characters=False,
    case=False,
    no_symbols=False,
    stop_words=None,
    min_length=None,
    hashed_bits=None,
    most_words=None,
):
    """Compares models by cross-validation, or fitted models on rows that none of them has seen.

    It is ``deciban compare``: every row is scored by models that were fitted without its fold, and models are ranked by
    log loss. The best of each kind are tried with a calibration, too, and fused.

    Parameters
    ----------
    X : table, str or path-like
        Labelled rows, as in `Classifier.fit`, or the path of a file (or a glob) in any format of the command line.
    y : array-like, optional
        The labels. Not needed where `target` names their column.
    target : str, optional
        The column of the labels, in a file or a table with names.
    models : str, list or dict, optional
        Kinds of models, such as ``["gaussian", "logistic"]``; by default all that fit the columns. Or fitted
        classifiers, or paths of model files, which are compared as they are: in a list, or in a dictionary by name.
    folds : int, "auto" or "leave-one-out", default "auto"
        The number of folds, each with its share of every class; "auto" has 20 up to 300 rows, 10 up to 2,000,
        5 up to 10,000 and 3 beyond that.
    effort : {"quick", "normal", "thorough"}, default "normal"
        How much work the search may take.
    by : {"log-loss", "likelihood"}, default "log-loss"
        What models are ranked by. The likelihood of held-out rows needs no scoring, and has no other figures.
    seed : int, default 0
        The seed by which rows are dealt into folds, or drawn for intervals.
    group, fold : array-like or str, optional
        Groups whose rows stay in one fold, or the fold of each row: a value for each row, or the name of a column,
        which is not a feature then.
    equal_together : bool, default False
        Whether equal rows stay in one fold. Folds then do not depend on the order of the rows, and are those of the
        same rows on Spark.
    sample_weight : array-like or str, optional
        A weight of each row; in a file, the name of a column.
    prior, costs, reject
        What decisions are made with, as in `Classifier.decide`. Without a prior, each fold has the class shares of the
        other folds, and fitted models have their own.
    top : int, default 20
        How many models are printed.
    n_jobs : int, optional
        The number of threads; all cores by default.
    progress : bool, optional
        Whether a bar is shown; by default in notebooks and at the prompt of a terminal, not in scripts.
    number, category, flag, count, text, ignore, missing
        What columns are, as in `Classifier`.
    ngrams, characters, case, no_symbols, stop_words, min_length, hashed_bits, most_words
        How texts become words, as in `Classifier`.

    Returns
    -------
    Comparison
        Figures of all models, the best first; `refit` learns the best from all rows.

    Examples
    --------
    >>> import deciban
    >>> heights = {"height": [155.0, 160, 162, 165, 168, 168, 173, 175, 178, 183]}
    >>> comparison = deciban.compare(heights, list("FFFFFMMMMM"), models=["gaussian"], folds=5)
    >>> comparison.best, round(comparison.lines[0]["log_loss"], 3)
    ('gaussian --covariance tied --estimator bayes', 0.281)
    >>> comparison.refit("gaussian --covariance tied")
    Classifier('gaussian', covariance='tied') [gaussian, covariance tied, estimator ml: 10 rows, 1 column, 2 classes]
    """
    reader = Classifier(
        number=number, category=category, flag=flag, count=count, text=text, ignore=ignore, missing=missing,
        ngrams=ngrams, characters=characters, case=case, no_symbols=no_symbols, stop_words=stop_words,
        min_length=min_length, hashed_bits=hashed_bits, most_words=most_words, n_jobs=n_jobs, progress=progress,
    )  # fmt: skip
    paths, folded = _paths(X), group if fold is None else fold
    if not paths:
        if target is not None and y is not None:
            raise ValueError("give y, or target, the column of the labels: not both")
        named = [name for name in (target, folded) if isinstance(name, str)]
        found = {name: _frame.column(X, name) for name in named}
        y, name = (found[target], target) if target is not None else (y, _labels.name_of(y))
        folded = found[folded] if isinstance(folded, str) else folded
        X = _frame.frame(X).without(named) if named else X
    fitted = _fitted(models)
    if fitted is not None:
        given = {"folds": (folds, "auto"), "effort": (effort, "normal"), "by": (by, "log-loss"), "group": (group, None), "fold": (fold, None), "equal_together": (equal_together, False)}
        given |= {name: (getattr(reader, name), default) for name, default in READING.items()}
        for name, (value, default) in given.items():
            if (value is not None) if default is None else (value != default):
                raise ValueError(f"{name} is for learning, and fitted models are compared as they are: drop it")
        return _judge(fitted, X, y, paths, target, sample_weight, (prior, costs, reject), seed, n_jobs)
    if group is not None and fold is not None:
        raise ValueError("give group or fold, not both: a fold of its own keeps a group together")
    if equal_together and folded is not None:
        raise ValueError("equal_together is for folds that are dealt by rows: drop it, or group and fold")
    rule = "group" if group is not None else "fold" if fold is not None else "equal" if equal_together else "stratified"
    kinds = [str(name) for name in _labels.listed(models)]
    how = lambda classes: (  # noqa: E731
        kinds, str(by), str(effort), str(folds), rule, int(seed), _application.application(classes, prior, costs, reject),
    )  # fmt: skip
    with _progress.watch(progress, "comparing") as report:
        if paths:
            core, learned = _of_files(reader, paths, y, target, sample_weight, rule, folded, how, report)
        else:
            core, learned = _of_table(reader, X, (y, name), sample_weight, rule, folded, how, report)
    for is_warning, message in core.remarks:
        if is_warning:
            warnings.warn(message, RemarkWarning, stacklevel=2)

    def refit(comparison, name):
        with _progress.watch(progress, "learning") as report:
            model = core.refit(name, n_jobs, report)
        comparison.best = core.best
        return learned(Classifier(**{**reader.get_params(), **params_of(name or core.best)}), model)

    remarks = [message for _, message in core.remarks]
    return Comparison(core.best, json.loads(core.json()), core.text(int(top)).rstrip(), remarks, refit)


#: What says how columns and texts are read, with the defaults.
READING = {name: None for name in (*_options.COLUMNS, *_options.TEXTS, "missing")} | dict.fromkeys(
    ("characters", "case", "no_symbols"), False
)


def _paths(X) -> list[str]:
    """The path that X is, if it is one."""
    if not isinstance(X, (str, os.PathLike)):
        return []
    path = os.fspath(X)
    if not os.path.exists(path) and not any(sign in path for sign in "*?["):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return [path]


def _of_table(reader, X, labelled, sample_weight, rule, folds, how, report):
    """A comparison by a table, and what makes a classifier of a model of it."""
    (y, target), n_jobs = labelled, reader.n_jobs
    table, labels, frame = reader._table(X, y, sample_weight, None)
    if folds is not None:
        table.set_folds(_labels.groups(folds, frame.rows, rule))
    core = _core.Comparison.of_table(table, list(labels), target, how(list(labels.values())), n_jobs, report)
    return core, lambda classifier, model: classifier._learned(model, labels)._saw(frame)


def _of_files(reader, paths, y, target, weight, rule, fold, how, report):
    """A comparison by files, and what makes a classifier of a model of it."""
    if y is not None or target is None:
        raise ValueError("with a path, target names the column of the labels, and y is not given")
    for name, value in (("sample_weight", weight), (rule, fold)):
        if value is not None and not isinstance(value, str):
            raise ValueError(f"{name}: with a path, give the name of a column")
    params = reader.get_params()
    table = _core.Table(0)
    table.read_with(**_options.reading(params))
    kinds = [(str(name), kind) for name, kind in _options.kinds(params).items()]
    core = _core.Comparison.of_files(table, paths, str(target), kinds, how([]), weight, fold, reader.n_jobs, report)
    return core, lambda classifier, model: classifier._loaded(model)


def _fitted(models) -> dict | None:
    """Fitted models by name, if that is what is given."""
    if isinstance(models, Classifier):
        models = [models]
    if isinstance(models, dict):
        named = models
    else:
        listed = _labels.listed(models)
        if not any(isinstance(model, (Classifier, os.PathLike)) or _is_model_file(model) for model in listed):
            return None
        named = {}
        for model in listed:
            name = model._call() if isinstance(model, Classifier) else str(model)
            same = sum(known == name or known.startswith(f"{name} #") for known in named)
            named[f"{name} #{same + 1}" if same else name] = model
    found = {str(name): model if isinstance(model, Classifier) else Classifier.load(model) for name, model in named.items()}
    for model in found.values():
        model._fitted()
    return found


def _is_model_file(model) -> bool:
    return isinstance(model, str) and model.endswith(".deciban")


def _judge(models, X, y, paths, target, sample_weight, application, seed, n_jobs):
    """Fitted models, as they are."""
    first = next(iter(models.values()))
    if paths:
        if y is not None or target is not None or sample_weight is not None:
            raise ValueError("with a path, fitted models know the column of the labels: drop y, target and sample_weight")
        tables = []
    else:
        tables = [model._labelled(X, y, sample_weight) for model in models.values()]
    told = _application.application(first.classes_.tolist(), *application)
    cores = [model._fitted() for model in models.values()]
    names, text, lines = _core.judge(list(models), cores, tables, paths, told, int(seed), n_jobs)
    return Comparison(names[0], json.loads(lines), text.rstrip())
