"""Evaluation on executors: each scores its own rows, and sends back sums and, of some rows, their evidence."""

from __future__ import annotations

import inspect
import json
import pickle

from .. import _classifier, _core, _labels
from . import _frames
from ._passes import Cluster, own_rows, row

#: What `deciban.Classifier.evaluate` takes, and how it is without.
DEFAULTS = {
    name: parameter.default
    for name, parameter in inspect.signature(_classifier.Classifier.evaluate).parameters.items()
    if name not in ("self", "X", "y", "sample_weight")
}


def evaluating(content: bytes, target: str, weight, application: str, share: float):
    """Evaluates the rows of a partition."""

    def evaluate(batches):
        rows, part, _ = own_rows(batches, False)
        state, count = b"", 0
        if rows is not None:
            model = _frames.loaded(content)._fitted()
            state, count = _core.evaluate_part(model, rows, target, application, weight, share, part)
        yield row(part, count, state)

    return evaluate


def joining(content: bytes, application: str):
    """Joins what is known of several partitions."""
    return lambda states: _core.merge_evaluated(_frames.loaded(content)._fitted(), application, states)


def evaluated(classifier, frame, label: str, weight, memory: int, **options):
    """All figures of the labelled rows of a frame."""
    wrong = options.keys() - DEFAULTS.keys()
    if wrong:
        raise TypeError(f"evaluate has no option {sorted(wrong)[0]!r}: give {', '.join(DEFAULTS)}")
    given = DEFAULTS | options
    model = classifier._fitted()
    application = classifier._application(given["prior"], given["costs"], given["reject"], given["none_of_these"])
    positive = None if given["positive"] is None else _labels.level_name(given["positive"])
    bootstrap = (int(given["resamples"]), given["confidence"], given["seed"]) if given["intervals"] else None
    columns = [name for name, _ in model.columns] + [label, *([weight] if weight else [])]
    rows, names = _frames.as_known(frame, classifier)
    rows = rows.where(f"c{_frames.place(label, names)} is not null")
    # A number for each class, the class and the weight.
    most, count = memory // (8 * len(classifier.classes_) + 12), rows.count()
    share = min(1.0, most / max(count, 1))
    content = pickle.dumps(classifier)
    cluster = Cluster(rows, names, label, weight)
    parts = cluster.tasks(columns, evaluating(content, label, weight, application, share))
    state, _ = cluster.merged(parts, joining(content, application), 1)
    if not state:
        raise ValueError("the data frame has no labelled rows")
    (figures, details, text), remarks = _core.evaluate_parts(model, [state], application, share, positive, bootstrap)
    _classifier._warn(remarks)
    values = {name: value for name, value, _ in figures}
    ends = {name: interval for name, _, interval in figures if interval is not None}
    return _classifier.Evaluation(values, ends, json.loads(details), text.rstrip())
