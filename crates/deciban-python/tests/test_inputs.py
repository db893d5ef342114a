"""What users give as rows and labels means what they mean by it, and what cannot be meant is refused."""

import pickle
import resource
import tracemalloc
from datetime import timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import deciban
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
            # As the program, which refuses the row with its line; nothing is left out without a word.
            for learn in (lambda y: Classifier("gaussian").fit(X, y), lambda y: deciban.compare(X, y, models="gaussian")):
                with pytest.raises(ValueError, match="row 7 has no label: fill it in or leave the row out"):
                    learn(make([*labels[:7], gap, *labels[8:]]))
            model = Classifier("gaussian", unlabelled_weight=1).fit(X, make([gap, *labels[1:]]))
            assert model.classes_.tolist() == ["no", "yes"]
    with pytest.raises(ValueError, match="row 0 has no label"):
        Classifier("gaussian").fit(X, np.ma.array(Y, mask=np.arange(N) < 3))
    with pytest.raises(ValueError, match="row 2 has no label"):
        Classifier("gaussian").fit(X, Y).update(X, np.where(np.arange(N) == 2, np.nan, Y))
    # Rows of a stream are refused in the same way.
    table = pa.table({"x": X[:, 0], "y": pa.array([None, *labels[1:]])})
    with pytest.raises(ValueError, match="the class is missing"):
        Classifier("gaussian").fit(iter([table]), "y")
    assert Classifier("gaussian", unlabelled_weight=1).fit(lambda: table, "y").classes_.tolist() == ["no", "yes"]


def test_labels_are_one_column():
    expected = Classifier("gaussian").fit(X, Y).evidence(X)
    for make in (lambda y: pd.DataFrame({"a": y, "name": y}), lambda y: pl.DataFrame({"a": y, "b": y}), lambda y: np.c_[y, y]):
        with pytest.raises(ValueError, match=r"y must have one label for each of 200 rows, and has shape \(200, 2\)"):
            Classifier("gaussian").fit(X, make(Y))
    with pytest.warns(UserWarning, match="column-vector y"):
        assert_array_equal(Classifier("gaussian").fit(X, pd.DataFrame({"name": Y})).evidence(X), expected)


def test_a_sparse_array_may_have_numbers_below_0():
    dense = np.where(RNG.random((N, 6)) < 0.5, 0, RNG.normal(size=(N, 6)) + Y[:, None])
    sparse = sp.csr_array(dense)
    for effort in ("quick", "normal"):
        model = Classifier(effort=effort).fit(sparse, Y)
        # Counts are all that other models of sparse arrays take: they are left out.
        assert all(name.startswith("logistic") for name, _ in model.compared_)
        assert model.score(sparse, Y) > 0.75
    for name in ("bernoulli", "multinomial", "naive-bayes"):
        with pytest.raises(ValueError, match="column `x`, row [0-9]+: -[0-9.]+ is not a count"):
            Classifier(name).fit(sparse, Y)
    with pytest.raises(ValueError, match="column `x0`, row [0-9]+: -[0-9.]+ is below 0; bernoulli takes flags and counts"):
        Classifier("bernoulli").fit(dense, Y)
    # With 180,000 words a linear model is left out, unless it is the only one that takes the table.
    wide = sp.csr_array((dense.ravel(), np.tile(np.arange(6) * 30_000, N), np.arange(0, 6 * N + 1, 6)), shape=(N, 180_000))
    assert Classifier().fit(wide, Y).score(wide, Y) > 0.75


@pytest.mark.parametrize("name", ["logistic", "probit", "cloglog"])
def test_linear_models_of_sparse_arrays_say_why_they_differ(name):
    dense = np.where(RNG.random((N, 6)) < 0.5, 0, RNG.normal(size=(N, 6)) * [1, 2, 3, 4, 5, 6] + Y[:, None])
    sparse = sp.csr_array(dense)
    scaled, model = Classifier(name).fit(dense, Y), Classifier(name).fit(sparse, Y)
    assert abs(scaled.predict_proba(dense) - model.predict_proba(sparse)).max() > 1e-3
    assert [remark for remark in model.remarks_ if "no_standardise=True" in remark] and not scaled.remarks_
    plain = Classifier(name, no_standardise=True)
    assert_allclose(plain.fit(dense, Y).predict_proba(dense), model.predict_proba(sparse), rtol=1e-12)
    assert_allclose(plain.fit(sparse, Y).predict_proba(sparse), model.predict_proba(sparse), rtol=1e-12)
    assert not plain.remarks_


def test_the_columns_of_a_sparse_array_are_counted(tmp_path):
    counts = sp.csr_array(RNG.poisson(1.0, (N, 6)).astype(float))
    model = Classifier("multinomial").fit(counts, Y)
    model.save(tmp_path / "m.deciban")
    for known in (model, pickle.loads(pickle.dumps(model)), Classifier.load(tmp_path / "m.deciban")):
        assert "200 rows, 6 columns, 2 classes" in repr(known) and known.n_features_in_ == 6
        assert not hasattr(known, "feature_names_in_")


def test_shapes_are_checked_before_anything_is_allocated():
    dense, sparse = Classifier("gaussian").fit(X, Y), Classifier("multinomial").fit(sp.csr_array(abs(X)), Y)
    limit = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (16 << 30, limit[1]))  # 10**9 columns would take more
    try:
        for wide in (np.empty((0, 10**9)), np.broadcast_to(0.0, (2, 10**9)), np.empty((10**9, 0)), sp.csr_array((0, 10**9))):
            for model in (dense, sparse):
                methods = [model.predict_proba, model.predict, model.evidence, model.decide, model.explain, model.how_usual]
                methods += [model.log_density, model.next_measurement, model.adapt_prior, model.conformal_p_values, model.impute]
                for method in methods:
                    with pytest.raises(ValueError):
                        method(wide)
                for method in (model.score, model.evaluate, model.report, model.update, model.forget):
                    with pytest.raises(ValueError):
                        method(wide, [0, 1])
            if 0 in wide.shape:
                for learn in (Classifier().fit, Classifier("gaussian").partial_fit, Classifier("gaussian").collect, deciban.compare):
                    with pytest.raises(ValueError, match="Found array with 0"):
                        learn(wide, [0, 1])
            with pytest.raises(ValueError):
                deciban.compare(wide, [0, 1], models=[dense])
            with pytest.raises(ValueError, match="no column 'label'"):
                deciban.compare(wide, target="label")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limit)


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


def test_lists_of_texts_are_one_column():
    mails = ["free prize now", "win a free prize", "see you at home", "dinner at home"]
    labels = ["spam", "spam", "ham", "ham"]
    expected = Classifier("multinomial", text="text").fit({"text": mails}, labels).predict_proba({"text": mails})
    for make in (list, tuple, np.array, lambda x: np.array(x, dtype=object), pd.Series, pl.Series, lambda x: pd.Series(x, name="mail")):
        model = Classifier("multinomial").fit(make(mails), labels)
        assert_array_equal(model.predict_proba(make(mails)), expected)
        assert_array_equal(model.predict_proba(mails), expected)
    with pytest.raises(ValueError, match="Reshape your data"):
        Classifier("gaussian").fit([1.0, 2.0, 3.0, 4.0], labels)
    with pytest.raises(ValueError, match="Reshape your data"):
        Classifier("gaussian").fit(pd.Series([1.0, 2.0, 3.0, 4.0]), labels)


def test_lists_of_dictionaries_are_rows():
    rows = [{"height": 155, "shoes": "flat"}, {"height": 160}, {"shoes": "high", "height": 171}, {"shoes": "flat", "height": 180}]
    columns = {"height": [155, 160, 171, 180], "shoes": ["flat", None, "high", "flat"]}
    expected = Classifier("naive-bayes").fit(columns, list("aabb")).predict_proba(columns)
    model = Classifier("naive-bayes").fit(rows, list("aabb"))
    assert_array_equal(model.predict_proba(rows), expected)
    assert_array_equal(model.predict_proba([rows[2]]), expected[2:3])


def test_polars_null_columns_and_lazy_frames():
    table = pl.DataFrame({"a": X[:, 0], "job": np.where(Y, "cook", "judge"), "none": pl.Series([None] * N, dtype=pl.Null)})
    expected = Classifier("naive-bayes", ignore="none").fit(table, Y).predict_proba(table)
    with pytest.warns(UserWarning, match="column `none`: all cells are missing, so it is left out"):
        assert_array_equal(Classifier("naive-bayes").fit(table, Y).predict_proba(table), expected)
    lazy = table.lazy()
    assert_array_equal(Classifier("naive-bayes", ignore="none").fit(lazy, Y).predict_proba(lazy), expected)
    full = table.with_columns(none=pl.Series(X[:, 1]), job=pl.Series(np.where(Y, "cook", "judge")))
    model = Classifier("naive-bayes").fit(full, Y)
    one = pl.DataFrame({"a": [X[0, 0]], "job": pl.Series([None], dtype=pl.Null), "none": pl.Series([None], dtype=pl.Null)})
    alone = Classifier("naive-bayes").fit(table.select("a"), Y)
    assert_allclose(model.predict_proba(one), alone.predict_proba(one), rtol=1e-12)


def test_arrow_backed_pandas():
    table = pd.DataFrame({"a": X[:, 0], "n": Y + RNG.integers(0, 3, N), "flag": Y > 0, "job": np.where(Y, "cook", "judge"),
                          "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 9, N), unit="D")})  # fmt: skip
    expected = Classifier("naive-bayes").fit(table, Y).predict_proba(table)
    arrow = table.convert_dtypes(dtype_backend="pyarrow")
    assert all(hasattr(dtype, "pyarrow_dtype") or "string" in str(dtype) for dtype in arrow.dtypes)
    assert_allclose(Classifier("naive-bayes").fit(arrow, Y).predict_proba(arrow), expected, rtol=1e-12)
    assert_allclose(Classifier("naive-bayes").fit(table, Y).predict_proba(arrow), expected, rtol=1e-12)
    gaps = arrow.copy()
    gaps.loc[3, ["a", "n", "flag", "job", "day"]] = None
    assert_allclose(Classifier("naive-bayes").fit(arrow, Y).evidence(gaps)[3], [0, 0], atol=1e-12)


def test_decimals_and_durations_are_numbers():
    cents, days = np.round(X[:, 0], 2), RNG.integers(0, 50, N) + 5 * Y
    numbers = {"price": cents, "wait": days.astype(float)}
    expected = Classifier("naive-bayes").fit(numbers, Y).evidence(numbers)
    decimals, delta = [Decimal(f"{x:.2f}") for x in cents], [timedelta(days=int(d)) for d in days]
    hours = pa.array(days * 24 * 3600, pa.duration("s"))
    for price in (decimals, pd.Series(decimals), pa.array(decimals), pa.array(decimals, pa.decimal256(40, 2)), pl.Series(decimals)):
        for wait in (delta, pd.Series(delta), hours, pl.Series(delta), np.array(delta, dtype="m8[h]")):
            table = {"price": price, "wait": wait}
            model = Classifier("naive-bayes").fit(table, Y)
            assert model._model.columns == [("price", "number"), ("wait", "number")]
            assert_allclose(model.evidence(table), expected, rtol=1e-9)


def test_names_in_any_list():
    table = pd.DataFrame({"a": X[:, 0], "zip": RNG.integers(0, 4, N), "id": np.arange(N)})
    expected = Classifier("naive-bayes", category=["zip"], ignore=["id"]).fit(table, Y).predict_proba(table)
    for make in (pd.Index, pd.Series, np.array, tuple, lambda x: pl.Series(x)):
        model = Classifier("naive-bayes", category=make(["zip"]), ignore=make(["id"])).fit(table, Y)
        assert_array_equal(model.predict_proba(table), expected)
    # In arrays columns have numbers.
    model = Classifier("naive-bayes", category=[1], ignore=2).fit(table.to_numpy(), Y)
    assert_array_equal(model.predict_proba(table.to_numpy()), expected)
    assert model._model.columns == [("x0", "number"), ("x1", "category")] and model.n_features_in_ == 3
    assert_array_equal(Classifier("naive-bayes", category=-2, ignore=[-1]).fit(table.to_numpy(), Y).predict_proba(table.to_numpy()), expected)
    with pytest.raises(ValueError, match="there is no column 3"):
        Classifier("naive-bayes", ignore=[3]).fit(table.to_numpy(), Y)
    with pytest.raises(ValueError, match="given both as category and as ignore"):
        Classifier("naive-bayes", category="a", ignore="a").fit(table, Y)


def test_partial_fit_by_name_with_classes():
    table = pd.DataFrame({"a": X[:, 0], "job": np.where(RNG.random(N) < 0.5, "cook", "judge")})
    expected = Classifier("naive-bayes").fit(table, Y).predict_proba(table)
    parts = Classifier("naive-bayes")
    parts.partial_fit(table[:80], Y[:80], classes=[0, 1])
    parts.partial_fit(table[80:][["job", "a"]].assign(other=1), Y[80:], classes=np.array([0, 1]))
    assert_allclose(parts.predict_proba(table), expected, rtol=1e-9)
    with pytest.raises(ValueError, match="y has the label 7"):
        parts.partial_fit(table[:2], [0, 7], classes=[0, 1])


def test_what_is_missing_is_kept_in_the_file(tmp_path):
    cells = {"a": np.where(RNG.random(N) < 0.3, "-", np.where(Y, "x", "y")), "n": np.where(RNG.random(N) < 0.3, -999, X[:, 0].round(2))}
    model = Classifier("naive-bayes", missing=["-", "-999"]).fit(cells, Y)
    expected = model.predict_proba(cells)
    model.save(tmp_path / "m.deciban")
    again = Classifier.load(tmp_path / "m.deciban")
    assert_array_equal(again.predict_proba(cells), expected)
    # Without `missing` the usual marks of missing cells count, as for the program.
    usual = Classifier("naive-bayes").fit({"a": ["x", "?", "y", "NA", "x", "y"]}, [0, 0, 1, 1, 0, 1])
    assert usual._model.levels(0) == ["x", "y"]
    none = Classifier("naive-bayes", missing=[]).fit({"a": ["x", "?", "y", "NA", "x", "y"]}, [0, 0, 1, 1, 0, 1])
    assert none._model.levels(0) == ["x", "?", "y", "NA"]
