"""Comparisons of models by cross-validation, whose passes go to the executors."""

from __future__ import annotations

import json
import warnings

from .. import _application, _classifier, _comparison, _core, _labels, _stream
from . import _frames
from ._estimator import Classifier
from ._passes import Cluster


def compare(
    dataset,
    labelCol="label",
    *,
    models=None,
    folds="auto",
    effort="normal",
    by="log-loss",
    seed=0,
    equal_together=False,
    weightCol=None,
    prior=None,
    costs=None,
    reject=None,
    top=_comparison.LINES,
    source="auto",
    **reading,
):
    """Compares models by cross-validation, as `deciban.compare` does, with the rows where they are.

    Every row is scored by models that were fitted without its fold. Where tasks read files by themselves, rows are dealt
    into folds by their places, as on one machine. The rows of other frames have no lasting places: they are dealt by what
    they hold, and equal rows stay in one fold, as with ``equal_together=True`` on one machine.

    Parameters
    ----------
    dataset : DataFrame
        Labelled rows. Those without a label are left out.
    labelCol : str, default "label"
        The column of the classes.
    models, folds, effort, by, seed, equal_together, prior, costs, reject, top
        As in `deciban.compare`.
    weightCol : str, optional
        A column of row weights.
    source : {"auto", "frame", "files"}, default "auto"
        Who reads the rows, as in `Classifier`.
    **reading
        What columns are and how texts become words, as in `deciban.compare`, such as ``ignore=["id"]``.

    Returns
    -------
    deciban.Comparison
        Figures of all models, the best first; `refit` learns one of them from all rows, and gives a `ClassifierModel`.

    Examples
    --------
    ::

        comparison = compare(tumours, "diagnosis", models=["gaussian", "logistic"])
        comparison.refit().transform(more)
    """
    wrong = reading.keys() - _comparison.READING.keys()
    if wrong:
        raise TypeError(f"compare has no option {sorted(wrong)[0]!r}")
    reader = _classifier.Classifier(**reading)
    _frames.check(dataset, [labelCol, *([weightCol] if weightCol else [])])
    cluster = Cluster.of(dataset, labelCol, weightCol, source)
    told = _application.application([], prior, costs, reject)
    kinds, rule = [str(name) for name in _labels.listed(models)], "equal" if equal_together else "stratified"
    how = (kinds, str(by), str(effort), str(folds), rule, int(seed), told)
    columns = _stream.columns_of(reader, labelCol, weightCol)
    core = _core.Comparison.of_remote(cluster.ask, cluster.first(), _stream.reading(reader), columns, how)
    for is_warning, message in core.remarks:
        if is_warning:
            warnings.warn(message, _classifier.RemarkWarning, stacklevel=2)

    def refit(comparison, name):
        params = comparison.params(name)
        model = params.pop("model")
        return Classifier(model, labelCol=labelCol, weightCol=weightCol, source=source, **reading, **params).fit(dataset)

    remarks = [message for _, message in core.remarks]
    return _comparison.Comparison(core.best, json.loads(core.json()), core.text(int(top)).rstrip(), remarks, refit)
