"""What users give as rows and labels means what they mean by it, and what cannot be meant is refused."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from deciban import Classifier

RNG = np.random.default_rng(5)
N = 200
Y = RNG.integers(0, 2, N)
X = RNG.normal(size=(N, 3)) + Y[:, None]


def test_sparse_rows_must_have_the_columns_of_the_fit():
    counts = sp.csr_array(RNG.poisson(1.0, (N, 6)).astype(float))
    model = Classifier("multinomial").fit(counts, Y)
    for wrong in (counts[:, :5], sp.hstack([counts, counts[:, :1]]).tocsr()):
        with pytest.raises(ValueError, match="X has [57] features, but Classifier is expecting 6 features"):
            model.predict_proba(wrong)
    with pytest.raises(ValueError, match="X has 2 features, but Classifier is expecting 3 features"):
        Classifier("gaussian").fit(X, Y).predict(X[:, :2])


def test_column_names_must_be_unique():
    twice = pd.DataFrame(X, columns=["a", "b", "a"])
    with pytest.raises(ValueError, match="several columns 'a'"):
        Classifier("gaussian").fit(twice, Y)
    once = Classifier("gaussian").fit(pd.DataFrame(X[:, :2], columns=["b", "c"]), Y)
    # Columns that the model does not take may be called anything.
    assert once.predict(twice.assign(c=1.0)).shape == (N,)
    with pytest.raises(ValueError, match="several columns 'a'"):
        Classifier("gaussian").fit(pd.DataFrame(X[:, :2], columns=["a", "b"]), Y).predict(twice)


@pytest.mark.parametrize("make", [np.array, pd.Series, lambda x: np.asarray(x).astype(object), list])
def test_flags_may_be_written_as_numbers(make):
    flag = RNG.random(N) < 0.2 + 0.6 * Y
    model = Classifier("naive-bayes").fit({"flag": flag}, Y)
    expected = model.predict_proba({"flag": flag})
    assert len(np.unique(expected[:, 0])) == 2
    assert_array_equal(model.predict_proba({"flag": make(flag.astype(int))}), expected)
    assert_array_equal(model.predict_proba({"flag": make(flag.astype(float))}), expected)
    # And numbers as flags.
    for options in ({"category": "flag"}, {}):
        numbers = Classifier("naive-bayes", **options).fit({"flag": flag.astype(int)}, Y)
        assert_allclose(numbers.predict_proba({"flag": make(flag)}), numbers.predict_proba({"flag": flag.astype(int)}))


def test_a_missing_label_is_not_a_class():
    labels = ["yes" if y else "no" for y in Y]
    for gap in (np.nan, None, pd.NA):
        for make in (list, pd.Series, lambda y: np.array(y, dtype=object)):
            model = Classifier("gaussian").fit(X, make([gap, *labels[1:]]))
            assert model.classes_.tolist() == ["no", "yes"]
            assert_array_equal(model.evidence(X), Classifier("gaussian").fit(X[1:], labels[1:]).evidence(X))
    masked = np.ma.array(Y, mask=np.arange(N) < 3)
    assert_allclose(Classifier("gaussian").fit(X, masked).evidence(X), Classifier("gaussian").fit(X[3:], Y[3:]).evidence(X))


@pytest.mark.parametrize("missing", [["-999"], -999, ["?", -999.0], "-999"])
def test_numbers_may_stand_for_missing_cells(missing):
    gap = RNG.random(N) < 0.2
    marked, empty = np.where(gap, -999, X[:, 0].round(2)), np.where(gap, np.nan, X[:, 0].round(2))
    expected = Classifier("naive-bayes").fit({"a": empty}, Y).evidence({"a": empty})
    whole = np.where(gap, -999, 5)
    for cells in (marked, pd.Series(marked), pd.Series(marked).convert_dtypes(dtype_backend="pyarrow"), marked.tolist()):
        model = Classifier("naive-bayes", missing=missing).fit({"a": cells}, Y)
        assert_allclose(model.evidence({"a": cells}), expected, rtol=1e-12)
    told = Classifier("naive-bayes", category="a", missing=missing).fit({"a": whole}, Y)
    assert told._model.levels(0) == ["5"]


def test_masked_cells_are_missing():
    mask = RNG.random(X.shape) < 0.2
    expected = Classifier("gaussian", covariance="diagonal").fit(np.where(mask, np.nan, X), Y)
    masked = np.ma.array(X, mask=mask)
    found = Classifier("gaussian", covariance="diagonal").fit(masked, Y)
    assert_allclose(found.evidence(masked), expected.evidence(np.where(mask, np.nan, X)), rtol=1e-12)
    columns = {"a": masked[:, 0], "n": np.ma.array(Y + 3, mask=mask[:, 1]), "t": np.ma.array(np.where(Y, "x", "y"), mask=mask[:, 2])}
    model = Classifier("naive-bayes").fit(columns, Y)
    assert model._model.levels(2) == ["y", "x"] or model._model.levels(2) == ["x", "y"]
    gone = {"a": np.ma.masked_all(1), "n": np.ma.masked_all(1, dtype=int), "t": np.ma.masked_all(1, dtype="U1")}
    assert_allclose(model.evidence(gone), [[0, 0]], atol=1e-15)


def test_one_long_text_makes_no_table_of_its_length():
    texts = [f"hello you number {i}" for i in range(1000)]
    texts[3] = "long " * 50_000
    labels = ["odd" if i % 2 else "even" for i in range(1000)]
    expected = None
    for rows in ({"text": texts}, [[text] for text in texts], pd.DataFrame({"text": texts})):
        tracemalloc.start()
        model = Classifier("multinomial").fit(rows, labels)
        found = model.predict_proba(rows)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        # Padded to the longest, a thousand texts would take 4 bytes * 250,000 each: a gigabyte.
        assert most < 10e6
        expected = found if expected is None else expected
        assert_array_equal(found, expected)
