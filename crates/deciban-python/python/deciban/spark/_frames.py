"""Data frames as the core reads them, and as they come back."""

from __future__ import annotations

import pickle
from itertools import chain

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


def flat(frame):
    """The frame with a column for each place of its arrays and vectors, named as in ``features[0]``."""
    from pyspark.sql import functions as F

    nested = [field for field in frame.schema.fields if is_vector(field) or is_array(field)]
    if not nested:
        return frame
    frame = vectors_as_arrays(frame)
    known = frame.where(" and ".join(f"`{field.name}` is not null" for field in nested))
    sizes = known.select([F.size(F.col(f"`{field.name}`")).alias(field.name) for field in nested]).limit(1).collect()
    if not sizes:
        raise ValueError(f"column {nested[0].name!r} has no arrays, only nulls")
    columns = []
    for field in frame.schema.fields:
        column = F.col(f"`{field.name}`")
        if field.name not in sizes[0].asDict():
            columns.append(column)
            continue
        width = sizes[0][field.name]
        wrong = F.raise_error(F.concat(F.lit(f"column {field.name}: an array has not {width} numbers, but "), F.size(column)))
        column = F.when(column.isNull() | (F.size(column) == width), column).otherwise(wrong)
        columns += [F.get(column, F.lit(place)).alias(f"{field.name}[{place}]") for place in range(width)]
    return frame.select(columns)


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
    wide = flat(frame)
    if wide is frame:
        return frame.mapInArrow(scoring(classifier, prediction, probability, evidence), StructType([*frame.schema.fields, *added]))
    # The arrays stay beside their places, which the output drops again.
    from pyspark.sql import functions as F

    places = [name for name in wide.columns if name not in frame.columns]
    frame = vectors_as_arrays(frame)
    cells = []
    for place in places:
        name, number = place[:-1].rsplit("[", 1)
        cells.append(F.get(F.col(f"`{name}`"), F.lit(int(number))).alias(place))
    both = frame.select("*", *cells)
    schema = StructType([*frame.schema.fields, *added])
    return both.mapInArrow(scoring(classifier, prediction, probability, evidence, places), schema)


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


def packing():
    """Batches as bytes in Arrow's format."""

    def pack(batches):
        import pyarrow as pa

        for batch in batches:
            if batch.num_rows == 0:
                continue
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            yield pa.RecordBatch.from_arrays([pa.array([sink.getvalue().to_pybytes()], pa.binary())], names=["batch"])

    return pack


def batches(frame):
    """The rows of a frame, batch by batch, partition by partition."""
    import pyarrow as pa

    def opened():
        packed = frame.mapInArrow(packing(), "batch binary").toLocalIterator()
        streams = (pa.ipc.open_stream(pa.py_buffer(bytes(row["batch"]))) for row in packed)
        return chain.from_iterable(streams)

    return opened
