"""Tables through Arrow's C interface: of any maker, with any chunks, where they lie; and categories fast."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose

from deciban import Classifier, _columns, _core, _frame

RNG = np.random.default_rng(8)
N = 1000
Y = RNG.integers(0, 2, N)
NUMBERS = RNG.normal(size=N) + Y
JOB = RNG.choice(["cook", "judge", "naïve"], N)


class Stream:
    """What nobody knows, but for its stream."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


class Batch:
    """The same for one batch."""

    def __init__(self, batch):
        self.batch = batch

    def __arrow_c_array__(self, requested_schema=None):
        return self.batch.__arrow_c_array__(requested_schema)


TABLE = pa.table({"a": NUMBERS, "job": JOB})
EXPECTED = Classifier("naive-bayes").fit({"a": NUMBERS, "job": JOB}, Y).evidence({"a": NUMBERS, "job": JOB})

MAKES = {
    "table": TABLE,
    "stream": Stream(TABLE),
    "batch": TABLE.to_batches()[0],
    "array": Batch(TABLE.to_batches()[0]),
    "chunks": pa.concat_tables([TABLE.slice(0, 3), TABLE.slice(3, 0), TABLE.slice(3, 600), TABLE.slice(603)]),
    "slice": pa.concat_tables([TABLE.slice(7, 5), TABLE]).combine_chunks().slice(5),
    "dictionary": pa.table({"a": NUMBERS, "job": pa.array(JOB).dictionary_encode()}),
    "large": pa.table({"a": NUMBERS, "job": pa.array(JOB, pa.large_string())}),
    "view": pa.table({"a": NUMBERS, "job": pa.array(JOB, pa.string_view())}),
    "polars": pl.DataFrame({"a": NUMBERS, "job": JOB}),
    "polars categorical": pl.DataFrame({"a": NUMBERS, "job": pl.Series(JOB, dtype=pl.Categorical)}),
    "polars chunks": pl.concat([pl.DataFrame(TABLE.slice(0, 10)), pl.DataFrame(TABLE.slice(10))], rechunk=False),
    "columns": {"a": pa.chunked_array([NUMBERS[:4], NUMBERS[4:]]), "job": pl.Series(JOB)},
    "pandas of arrow": pd.DataFrame({"a": NUMBERS, "job": JOB}).convert_dtypes(dtype_backend="pyarrow"),
}


@pytest.mark.parametrize("name", MAKES)
def test_makes(name):
    table = MAKES[name]
    assert_allclose(Classifier("naive-bayes").fit(table, Y).evidence(table), EXPECTED, rtol=1e-12)


@pytest.mark.parametrize("type", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float", "double"])
def test_numbers_lie_where_they_lay(type):
    whole = RNG.integers(0, 50, N)
    memory = whole.astype({"float": "f4", "double": "f8"}.get(type, type))
    table = pa.table({"a": pa.Array.from_buffers(pa.type_for_alias(type), N, [None, pa.py_buffer(memory)])})
    column = dict(_core.arrow_columns(table)[0])["a"]
    expected = Classifier("gaussian").fit({"a": whole[::-1].astype(float)}, Y).evidence({"a": [3.0, 20.0]})
    # What is written afterwards is what is read: there is no copy.
    memory[:] = memory[::-1].copy()
    assert_allclose(Classifier("gaussian").fit({"a": column}, Y).evidence({"a": [3.0, 20.0]}), expected, rtol=1e-9)


def test_nulls_are_missing():
    table = pa.table({"a": [1.0, None, 2.0, 3.0, 7.0], "n": [1, 5, 3, None, 8], "job": ["x", None, "y", "x", "x"]})
    flags = pa.table({"flag": pa.array([True, None, False, True]), "nothing": pa.nulls(4)})
    by_hand = {"a": [1, np.nan, 2, 3, 7], "n": [1.0, 5, 3, np.nan, 8], "job": ["x", None, "y", "x", "x"]}
    model, by_hand = (Classifier("gaussian", covariance="tied-diagonal", ignore="job").fit(t, [0, 0, 0, 1, 1]) for t in (table, by_hand))
    assert_allclose(model.evidence(table), by_hand.evidence(table), rtol=1e-12)
    assert_allclose(model.evidence(table.slice(0, 0)), np.empty((0, 2)))
    by_flag = Classifier("naive-bayes").fit(flags.select(["flag"]), [0, 0, 1, 1])
    assert_allclose(by_flag.evidence({"flag": [None]}), [[0, 0]], atol=1e-15)


def test_what_cannot_be_read_is_told():
    odd = pa.table({"a": [1.0, 2.0, 4.0, 6.0], "when": pa.array([1, 2, 3, 4], pa.time32("s"))})
    with pytest.raises(ValueError, match='column `when`: the type Time32.* cannot be read: give ignore="when"'):
        Classifier("naive-bayes").fit(odd, [0, 0, 1, 1])
    assert Classifier("naive-bayes", ignore="when").fit(odd, [0, 0, 1, 1]).predict(odd).tolist() == [0, 0, 1, 1]
    with pytest.raises(TypeError, match="a table has columns"):
        Classifier("naive-bayes").fit(pa.array([1.0, 2.0]), [0, 1])
    with pytest.raises(ValueError, match="is not a number"):
        Classifier("naive-bayes", number="job").fit(TABLE, Y)


def test_dates_are_days():
    days = np.array(["1970-01-01", "1970-01-03", "1970-02-01", "1970-01-11", "NaT"], dtype="M8[D]")
    numbers, y = [0.0, 2.0, 31.0, 10.0, np.nan], [0, 0, 1, 1, 1]
    expected = Classifier("naive-bayes").fit({"d": numbers}, y).evidence({"d": numbers})
    for cells in (days, days.astype("M8[ns]"), pa.array(days), pd.Series(days), pl.Series(days), pd.Series(days).dt.tz_localize("UTC")):
        assert_allclose(Classifier("naive-bayes").fit({"d": cells}, y).evidence({"d": cells}), expected, rtol=1e-9)
    texts = {"d": [str(day) for day in days[:4]] + [None]}
    assert_allclose(Classifier("naive-bayes").fit(texts, y).evidence(texts), expected, rtol=1e-9)


def test_without_pyarrow():
    code = """
import sys
sys.modules["pyarrow"] = None
import polars as pl, deciban
table = pl.DataFrame({"a": [1.0, 2.0, 4.0, 6.0], "job": ["x", "y", "y", "x"]})
print(deciban.Classifier("naive-bayes").fit(table, [0, 0, 1, 1]).predict(table).tolist())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[0, 0, 1, 1]\n", done.stderr


def test_categories_are_coded_without_a_loop_in_python():
    names = np.array([f"level {i}" for i in range(50)], dtype=object)

    def calls(cells):
        """How many functions are called, of Python and of others, on the way to a table."""
        count = [0]

        def add(*_):
            count[0] += 1

        sys.setprofile(add)
        _columns.learn_from(_core.Table(len(cells)), _frame.frame({"a": cells}), {})
        sys.setprofile(None)
        return count[0]

    few, many = names[RNG.integers(0, 50, 100)], names[RNG.integers(0, 50, 20_000)]
    for make in (lambda x: x, pd.Series, pl.Series, pa.array, lambda x: x.astype("U"), pd.Categorical, lambda x: x == "level 3"):
        calls(make(few))  # what is imported on the way
        assert calls(make(many)) < calls(make(few)) + 100
    assert Classifier("naive-bayes").fit({"a": many}, np.arange(20_000) % 2)._model.levels(0)[0] == many[0]
