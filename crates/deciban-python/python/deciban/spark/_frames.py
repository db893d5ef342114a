"""Data frames as the core reads them, and as they come back."""

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


def is_vector(field) -> bool:
    """Whether a column holds vectors of Spark ML."""
    return type(field.dataType).__name__ == "VectorUDT"


def is_array(field) -> bool:
    """Whether a column holds arrays of numbers."""
    from pyspark.sql.types import ArrayType, NumericType

    return isinstance(field.dataType, ArrayType) and isinstance(field.dataType.elementType, NumericType)


def nested(frame) -> list[str]:
    """The columns of arrays and vectors."""
    return [field.name for field in frame.schema.fields if is_vector(field) or is_array(field)]


def places(name: str, width: int) -> list:
    """A column for each place of an array, named as in ``features[0]``; an array of another length ends the job."""
    from pyspark.sql import functions as F

    column = F.col(f"`{name}`")
    wrong = F.raise_error(F.concat(F.lit(f"column {name}: an array has not {width} numbers, but "), F.size(column)))
    checked = F.when(column.isNull() | (F.size(column) == width), column).otherwise(wrong)
    return [F.get(checked, F.lit(place)).alias(f"{name}[{place}]") for place in range(width)]


def flat(frame):
    """The frame with a column for each place of its arrays and vectors, as many as the first of them has."""
    from pyspark.sql import functions as F

    arrays = nested(frame)
    if not arrays:
        return frame
    frame = vectors_as_arrays(frame)
    known = frame.where(" and ".join(f"`{name}` is not null" for name in arrays))
    sizes = known.select([F.size(F.col(f"`{name}`")).alias(name) for name in arrays]).limit(1).collect()
    if not sizes:
        raise ValueError(f"column {arrays[0]!r} has no arrays, only nulls")
    columns = []
    for name in frame.columns:
        columns += places(name, sizes[0][name]) if name in arrays else [F.col(f"`{name}`")]
    return frame.select(columns)


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
    """The frame with a column for each place of its arrays that the model knows; and the names of these columns."""
    known, cells, names = {name for name, _ in classifier._model.columns}, [], []
    for name in nested(frame):
        width = 0
        while f"{name}[{width}]" in known:
            width += 1
        cells += places(name, width)
        names += [f"{name}[{place}]" for place in range(width)]
    frame = vectors_as_arrays(frame)
    return (frame.select("*", *cells) if cells else frame), names


def loaded(content: bytes):
    """The classifier of these bytes."""
    if content not in _LOADED:
        _LOADED.clear()
        _LOADED[content] = pickle.loads(content)
    return _LOADED[content]


def scored(frame, classifier, prediction, probability, evidence):
    """The frame with the columns of a prediction."""
    from pyspark.sql.types import ArrayType, DoubleType, LongType, StringType, StructField, StructType

    for name in (prediction, probability, evidence):
        if name in frame.columns:
            raise ValueError(f"the data frame has a column {name!r} already: give another name for the new one")
    is_integer = classifier.classes_.dtype.kind in "iu"
    added = [StructField(prediction, LongType() if is_integer else StringType())] if prediction else []
    added += [StructField(name, ArrayType(DoubleType(), False)) for name in (probability, evidence) if name]
    # Arrays stay beside their places, which the output drops again.
    both, dropped = as_known(frame, classifier)
    schema = StructType([*vectors_as_arrays(frame).schema.fields, *added])
    return both.mapInArrow(scoring(classifier, prediction, probability, evidence, dropped), schema)


def vectors_as_arrays(frame):
    """The frame with arrays in the place of vectors: Arrow knows arrays."""
    from pyspark.sql import functions as F

    for field in frame.schema.fields:
        if is_vector(field):
            from pyspark.ml.functions import vector_to_array

            frame = frame.withColumn(field.name, vector_to_array(F.col(f"`{field.name}`")))
    return frame


def scoring(classifier, prediction, probability, evidence, dropped=()):
    """Adds the columns of a prediction to batches."""
    content, gone = pickle.dumps(classifier), frozenset(dropped)

    def arrays(values):
        import pyarrow as pa

        rows, width = values.shape
        offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * width)
        return pa.ListArray.from_arrays(offsets, pa.array(values.ravel()))

    def score(batches):
        import pyarrow as pa

        from deciban import _core

        model = loaded(content)
        for batch in batches:
            found = model.evidence(batch)
            log_posterior = _core.log_posterior(found, model._prior(None))
            undefined = np.isnan(log_posterior).any(axis=1)
            best = np.where(np.isnan(log_posterior), -np.inf, log_posterior).argmax(axis=1)
            kept = [name for name in batch.schema.names if name not in gone]
            columns, names = [batch.column(name) for name in kept], list(kept)
            if prediction:
                kind = pa.int64() if model.classes_.dtype.kind in "iu" else pa.string()
                columns.append(pa.array(model.classes_[best].tolist(), kind, mask=undefined))
                names.append(prediction)
            if probability:
                columns.append(arrays(np.exp(log_posterior)))
                names.append(probability)
            if evidence:
                columns.append(arrays(found))
                names.append(evidence)
            yield pa.RecordBatch.from_arrays(columns, names=names)

    return score
