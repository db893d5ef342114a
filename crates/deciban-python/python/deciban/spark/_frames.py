"""Data frames as the core reads them, and as they come back.

Spark does not find every column by its name: `mapInArrow` takes the dot in ``emp.var.rate`` for the field of a structure,
and names that differ in case alone are the same to it. So a frame gets plain names before anything is asked of it, column
by column in their order (`plain`), and what comes back gets its own names again.
"""

from __future__ import annotations

import pickle
from contextlib import contextmanager

import numpy as np

#: The models of this process, by their bytes: tasks of one worker share one.
_LOADED: dict[bytes, object] = {}


def check(frame, names) -> None:
    """Refuses a frame that lacks a column."""
    for name in names:
        if name not in frame.columns:
            raise ValueError(f"the data frame has no column {name!r}; it has {frame.columns[:20]}")


def plain(frame):
    """The frame with plain names, and its own names in the order of the columns."""
    names = list(frame.columns)
    return frame.toDF(*(f"c{j}" for j in range(len(names)))), names


def named(function, names):
    """A function of batches for the executors, whose columns get their own names before it."""

    def run(batches):
        import pyarrow as pa

        return function(pa.RecordBatch.from_arrays(batch.columns, names=names) for batch in batches)

    return run


def is_vector(field) -> bool:
    """Whether a column holds vectors of Spark ML."""
    return type(field.dataType).__name__ == "VectorUDT"


def is_array(field) -> bool:
    """Whether a column holds arrays of numbers."""
    from pyspark.sql.types import ArrayType, NumericType

    return isinstance(field.dataType, ArrayType) and isinstance(field.dataType.elementType, NumericType)


def nested(frame) -> list[int]:
    """The places of the columns of arrays and vectors."""
    return [j for j, field in enumerate(frame.schema.fields) if is_vector(field) or is_array(field)]


def cells_of(column, name: str, width: int) -> list:
    """The cells of an array, which is the column `name` of the user; an array of another length ends the job."""
    from pyspark.sql import functions as F

    wrong = F.raise_error(F.concat(F.lit(f"column {name}: an array has not {width} numbers, but "), F.size(column)))
    checked = F.when(column.isNull() | (F.size(column) == width), column).otherwise(wrong)
    return [F.get(checked, F.lit(place)) for place in range(width)]


def place_names(name: str, width: int) -> list[str]:
    """The names of the places of an array, as in ``features[0]``."""
    return [f"{name}[{place}]" for place in range(width)]


def flat(frame):
    """The frame with a column for each place of its arrays and vectors, as many as the first of them has, under plain
    names; and the names that the columns have for the user."""
    from pyspark.sql import functions as F

    arrays = nested(frame)
    frame, names = plain(frame)
    if not arrays:
        return frame, once(names)
    frame = vectors_as_arrays(frame)
    known = frame.where(" and ".join(f"c{j} is not null" for j in arrays))
    sizes = known.select([F.size(F.col(f"c{j}")) for j in arrays]).limit(1).collect()
    if not sizes:
        raise ValueError(f"column {names[arrays[0]]!r} has no arrays, only nulls")
    widths = dict(zip(arrays, sizes[0]))
    columns, found = [], []
    for j, name in enumerate(names):
        columns += cells_of(F.col(f"c{j}"), name, widths[j]) if j in widths else [F.col(f"c{j}")]
        found += place_names(name, widths[j]) if j in widths else [name]
    return frame.select([column.alias(f"c{j}") for j, column in enumerate(columns)]), once(found)


def once(names: list[str]) -> list[str]:
    """Refuses names that occur twice: which column is meant?"""
    for j, name in enumerate(names):
        if name in names[:j]:
            raise ValueError(f"there are several columns {name!r}: names must be unique")
    return names


#: Columns whose cells are handed over one by one.
NARROW = 32


def first_rows(frame, count: int):
    """Some of the first rows as a table of Arrow.

    `toArrow` asks every partition for so many rows. `take` asks the first one, but hands over cell by cell: it is the
    quicker way for few columns of plain types. Spark Connect has no such way.
    """
    import pyarrow as pa
    from pyspark.sql.types import BooleanType, NumericType, StringType

    plain = all(isinstance(field.dataType, (NumericType, StringType, BooleanType)) for field in frame.schema.fields)
    if not plain or len(frame.columns) > NARROW or not hasattr(frame, "_jdf"):
        return frame.limit(count).toArrow()
    schema, rows = frame.limit(0).toArrow().schema, frame.take(count)
    cells = zip(*rows) if rows else [[] for _ in schema]
    return pa.Table.from_arrays([pa.array(own, field.type) for own, field in zip(cells, schema)], schema=schema)


#: What Spark calls the bytes and the rows that a batch for Python has at most.
BYTES, ROWS = "spark.sql.execution.arrow.maxBytesPerBatch", "spark.sql.execution.arrow.maxRecordsPerBatch"

#: Rows of a batch: texts of 16 kB each take 64 MiB, which is Spark's own limit.
MOST = 1 << 12


@contextmanager
def quick_batches(session):
    """Batches for Python are bounded by their rows, and not by their bytes.

    Spark measures all columns of a batch again for every row that it adds, which takes as long as writing the row.
    """
    unbounded = str((1 << 31) - 1)
    before = {name: session.conf.get(name) for name in (BYTES, ROWS)}
    if before[BYTES] == unbounded:
        yield
        return
    rows = int(before[ROWS])
    session.conf.set(BYTES, unbounded)
    session.conf.set(ROWS, str(min(rows, MOST) if rows > 0 else MOST))
    try:
        yield
    finally:
        for name, value in before.items():
            session.conf.set(name, value)


def as_known(frame, classifier):
    """The frame with plain names, and after its own columns one for each place of its arrays that the model knows; and
    the names of all these columns."""
    from pyspark.sql import functions as F

    known, cells, arrays = {name for name, _ in classifier._model.columns}, [], nested(frame)
    frame, names = plain(frame)
    frame = vectors_as_arrays(frame)
    for j in arrays:
        width = 0
        while f"{names[j]}[{width}]" in known:
            width += 1
        cells += cells_of(F.col(f"c{j}"), names[j], width)
        names += place_names(names[j], width)
    first = len(names) - len(cells)
    cells = [cell.alias(f"c{first + k}") for k, cell in enumerate(cells)]
    return (frame.select("*", *cells) if cells else frame), names


def place(name: str, names: list[str]) -> int:
    """The only column of this name."""
    found = [j for j, other in enumerate(names) if other == name]
    if len(found) != 1:
        raise ValueError(f"there are several columns {name!r}" if found else f"the data frame lacks the column {name!r}; it has {names[:20]}")
    return found[0]


def loaded(content: bytes):
    """The classifier of these bytes."""
    if content not in _LOADED:
        _LOADED.clear()
        _LOADED[content] = pickle.loads(content)
    return _LOADED[content]


def scored(frame, classifier, prediction, probability, evidence):
    """The frame with the columns of a prediction."""
    from pyspark.sql.types import ArrayType, DoubleType, LongType, StringType, StructField, StructType

    own = list(frame.columns)
    new = [name for name in (prediction, probability, evidence) if name]
    for name in new:
        if name in own:
            raise ValueError(f"the data frame has a column {name!r} already: give another name for the new one")
    both, names = as_known(frame, classifier)
    places = [place(name, names) for name, _ in classifier._model.columns]
    kinds = [ArrayType(DoubleType(), False)] * (len(new) - bool(prediction))
    if prediction:
        kinds.insert(0, LongType() if classifier.classes_.dtype.kind in "iu" else StringType())
    # Arrays stay beside their places, which the output drops again.
    fields = both.schema.fields[: len(own)]
    fields += [StructField(f"c{len(own) + k}", kind) for k, kind in enumerate(kinds)]
    score = scoring(classifier, places, len(own), bool(prediction), bool(probability), bool(evidence))
    return both.mapInArrow(score, StructType(fields)).toDF(*own, *new)


def vectors_as_arrays(frame):
    """The frame, whose names are plain, with arrays in the place of vectors: Arrow knows arrays."""
    from pyspark.sql import functions as F

    for field in frame.schema.fields:
        if is_vector(field):
            from pyspark.ml.functions import vector_to_array

            frame = frame.withColumn(field.name, vector_to_array(F.col(field.name)))
    return frame


def scoring(classifier, places, kept: int, prediction: bool, probability: bool, evidence: bool):
    """Adds the columns of a prediction to the first `kept` columns of batches; `places` are those of the model's columns."""
    content = pickle.dumps(classifier)

    def arrays(values):
        import pyarrow as pa

        rows, width = values.shape
        offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * width)
        return pa.ListArray.from_arrays(offsets, pa.array(values.ravel()))

    def score(batches):
        import pyarrow as pa

        from deciban import _core

        model = loaded(content)
        known = [name for name, _ in model._model.columns]
        for batch in batches:
            found = model.evidence(pa.RecordBatch.from_arrays([batch.column(j) for j in places], names=known))
            log_posterior = _core.log_posterior(found, model._prior(None))
            undefined = np.isnan(log_posterior).any(axis=1)
            best = np.where(np.isnan(log_posterior), -np.inf, log_posterior).argmax(axis=1)
            columns = batch.columns[:kept]
            if prediction:
                kind = pa.int64() if model.classes_.dtype.kind in "iu" else pa.string()
                columns.append(pa.array(model.classes_[best].tolist(), kind, mask=undefined))
            if probability:
                columns.append(arrays(np.exp(log_posterior)))
            if evidence:
                columns.append(arrays(found))
            yield pa.RecordBatch.from_arrays(columns, names=[f"c{j}" for j in range(len(columns))])

    return score
