"""Rows that are read as a stream, in bounded memory: files, and whatever offers ``__arrow_c_stream__`` or yields record
batches. The target is then the name of a column.

A model that needs several passes over the rows asks for the stream again, where that is possible: of a function that
returns a new stream, of a relation of DuckDB, a lazy frame of Polars, a data set of PyArrow, or any other object that
gives a stream whenever it is asked. A reader or an iterator comes only once: where it is needed again, its rows go to
a temporary file in Arrow's format. Later passes must see the same number of rows as the first.
"""

from __future__ import annotations

import json
import os

import numpy as np

from . import _core, _options, _progress
from ._frame import Frame
from ._ledger import Evaluation
from ._statistics import Statistics

#: Rows of a batch that a database is asked for.
BATCH = 1 << 16


def is_relation(X) -> bool:
    """Whether it is a query of DuckDB, which has a length, too, but must run to know it."""
    return type(X).__module__.split(".")[0] in ("duckdb", "_duckdb")


def is_stream(X) -> bool:
    """Whether rows to be scored come as a stream, and not as a table in memory."""
    if isinstance(X, (str, bytes, os.PathLike, Frame, np.ndarray)):
        return False
    if hasattr(X, "__arrow_c_stream__"):
        return is_relation(X) or not hasattr(X, "__len__")
    return hasattr(X, "collect_batches") or callable(X) or hasattr(X, "__next__") or is_data_set(X)


def is_data_set(X) -> bool:
    """Whether it is a data set of PyArrow, or what looks like one."""
    return hasattr(X, "to_batches") and hasattr(X, "scanner")


def with_types(X):
    """A lazy frame whose columns of nothing but nulls are numbers: Arrow does not take those of Polars as they are."""
    import polars

    empty = [name for name, kind in X.collect_schema().items() if kind == polars.Null]
    return X.with_columns(polars.col(name).cast(polars.Float64) for name in empty) if empty else X


def rows(X) -> _core.Rows:
    """What the core reads: files, or a function that gives streams, and whether it does so more than once."""
    if isinstance(X, (str, os.PathLike)):
        return _core.Rows.of_files([os.fspath(X)])
    if isinstance(X, (list, tuple)) and X and all(isinstance(path, (str, os.PathLike)) for path in X):
        return _core.Rows.of_files([os.fspath(path) for path in X])
    if is_relation(X):
        # The batches of the plain interface have a million rows.
        for name in ("to_arrow_reader", "fetch_arrow_reader", "fetch_record_batch"):
            if hasattr(X, name):
                return _core.Rows(lambda: getattr(X, name)(BATCH), not is_result(X))
    if hasattr(X, "collect_batches"):  # a lazy frame of Polars
        typed = with_types(X)
        return _core.Rows(lambda: typed.collect_batches(chunk_size=BATCH), True)
    if is_data_set(X):
        return _core.Rows(lambda: X.to_batches(batch_size=BATCH), True)
    if hasattr(X, "__arrow_c_stream__"):
        return _core.Rows(lambda: X, not comes_once(X))
    if callable(X):
        return _core.Rows(X, True)
    if hasattr(X, "__iter__"):
        return _core.Rows(lambda: X, not comes_once(X))
    raise TypeError(
        f"y names a column, so X must be a path, a stream (an object with __arrow_c_stream__), an iterable of record "
        f"batches, or a function that returns one of these, not {type(X).__name__}"
    )


def is_result(X) -> bool:
    """Whether it is a connection of DuckDB, whose result can be fetched once."""
    return type(X).__name__ == "DuckDBPyConnection"


def comes_once(X) -> bool:
    """Whether it is a reader or an iterator, which is used up by reading."""
    return hasattr(X, "__next__") or hasattr(X, "read_next_batch")


def columns_of(classifier, target: str, weight) -> tuple:
    """The target, the kinds of columns that are given, and the column of weights."""
    if weight is not None and not isinstance(weight, str):
        raise ValueError("sample_weight: with a stream, give the name of a column")
    kinds = [(str(name), kind) for name, kind in _options.kinds(classifier.get_params()).items()]
    return str(target), kinds, weight


def reading(classifier) -> _core.Table:
    """How cells and texts are read."""
    table = _core.Table(0)
    table.read_with(**_options.reading(classifier.get_params()))
    return table


def learner(classifier, group=None) -> tuple:
    """The model, its options and its calibration."""
    return classifier.model, _options.learner(classifier.get_params(), group), classifier.calibrate


def fit(classifier, X, target: str, weight=None, group=None) -> _core.Model:
    """Learns from a stream."""
    columns = columns_of(classifier, target, weight)
    if group is not None and not isinstance(group, str):
        raise ValueError("groups: with a stream, give the name of a column")
    with _progress.watch(classifier.progress, "learning") as report:
        return _core.fit_rows(rows(X), reading(classifier), columns, learner(classifier, group), classifier.n_jobs, report)


def collect(classifier, X, target: str, weight=None) -> tuple[Statistics, list]:
    """Summarises a stream; with remarks about its columns."""
    columns = columns_of(classifier, target, weight)
    with _progress.watch(classifier.progress, "collecting") as report:
        core, remarks = _core.collect_rows(
            rows(X), reading(classifier), columns, learner(classifier), classifier.n_jobs, report
        )
    return Statistics(_core_statistics=core), remarks


def evidence(classifier, X) -> np.ndarray:
    """The evidence of a stream, batch by batch."""
    classifier._fitted()
    parts = [np.empty((0, len(classifier.classes_)))]
    for columns, count in rows(X).batches():
        frame = Frame(count, [name for name, _ in columns], [cells for _, cells in columns], True)
        parts.append(classifier.evidence(frame))
    return np.concatenate(parts)


def evaluate(classifier, X, target: str, weight, application: str, positive, bootstrap) -> tuple[Evaluation, list]:
    """Evaluates by a stream of labelled rows; with remarks."""
    if weight is not None and not isinstance(weight, str):
        raise ValueError("sample_weight: with a stream, give the name of a column")
    (figures, details, text), remarks = _core.evaluate_rows(
        classifier._fitted(), rows(X), str(target), application, weight, positive, bootstrap, n_jobs=classifier.n_jobs
    )
    values = {name: value for name, value, _ in figures}
    ends = {name: interval for name, _, interval in figures if interval is not None}
    return Evaluation(values, ends, json.loads(details), text.rstrip()), remarks
