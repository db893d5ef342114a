"""Whatever comes in, an answer or one of Python's errors comes out: never a panic, never a crash."""

import itertools
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import deciban.sklearn
from deciban import Classifier, decide, evaluate

#: What may be raised; a panic of the core is no subclass of Exception, and a crash ends the tests.
ANSWERS = (ValueError, TypeError, IndexError, NotImplementedError, np.linalg.LinAlgError, MemoryError, OverflowError)

MODELS = [
    lambda: Classifier("gaussian"),
    lambda: Classifier("gaussian", covariance="diagonal"),
    lambda: Classifier("naive-bayes"),
    lambda: Classifier("multinomial", ngrams="1..2", hashed_bits=6),
    lambda: Classifier("naive-bayes", category="x0", text="x1"),
    lambda: Classifier("bernoulli"),
    lambda: Classifier("multinomial"),
    lambda: Classifier("tree"),
    lambda: Classifier("a1de"),
    lambda: Classifier("parzen"),
    lambda: Classifier("table"),
    lambda: Classifier("logistic"),
    lambda: Classifier("least-squares"),
    lambda: Classifier("noisy-or"),
    *(getattr(deciban.sklearn, name) for name in deciban.sklearn.__all__ if name[0].isupper()),
]


def matrices():
    """Tables with something odd about each."""
    rng = np.random.default_rng(9)
    plain = rng.normal(size=(12, 3))
    yield from (np.empty((0, 3)), np.empty((12, 0)), np.empty((0, 0)), np.zeros((12, 3)), np.zeros((1, 1)), plain)
    yield from (np.full((12, 3), np.nan), np.where(plain > 1, np.nan, plain), np.where(plain > 1, np.inf, plain))
    yield from (plain * 1e300, plain * 1e-300, plain + 1e15, np.full((12, 3), 5e-324), np.full((12, 2), 1.7e308))
    for dtype in ("i1", "u1", "i2", "u4", "i8", "u8", "f2", "f4", ">f8", "?", "c16", "U3", "S2", "O", "M8[s]", "m8[s]"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield np.abs(3 * plain).astype(dtype) if dtype != "O" else np.array([["a", None, 1]] * 12, dtype=object)
    yield np.full((12, 2), np.iinfo(np.int64).min)
    yield np.full((12, 2), np.iinfo(np.uint64).max, dtype=np.uint64)
    yield from (np.broadcast_to(np.float64(3), (12, 3)), plain[::-1, ::-2], np.asfortranarray(plain), plain[:, :, None])
    yield from (plain[0], "text", None, 7, [], [[]], [[1, 2], [3]], {"a": [1, 2], "b": [1]}, {}, {"a": ["x"] * 12})
    for odd in ("\ud800", b"\xff", Decimal("NaN"), object(), 2**200, 1j, "a\0b", "x" * 10_000, pd.NA, pd.NaT, True, [1]):
        cells = np.empty(12, dtype=object)
        cells[:] = [odd, "a", None] * 4
        yield {"a": cells}
        yield pd.DataFrame({"a": [odd, 1.5] * 6, "b": [odd] * 12}, dtype=object)
    texts = ["one two three four", "", " ", "é ü ñ", "!!!", "a\nb"] * 2
    yield from ({"x0": texts, "x1": texts}, {"x1": [None] * 12, "x0": [True, None] * 6}, np.array([texts, texts]).T)
    yield from (pa.table({}), pa.table({"a": []}), pa.table({"a": pa.nulls(12)}), pa.table({"a": [[1]] * 12}))
    yield from (pa.table({"a": [b"x"] * 12}), pa.table({"a": [Decimal("1.5")] * 12}), pa.array([1] * 12))
    yield from (pl.DataFrame({"a": [{"b": 1}] * 12}), pl.DataFrame({"a": pl.Series([None] * 12, dtype=pl.Categorical)}))
    yield from (pl.DataFrame({"a": texts, "b": texts}), pd.DataFrame({"a": pd.Categorical(texts)}), pd.DataFrame(index=range(12)))
    yield from (sp.csr_matrix((12, 5)), sp.csr_matrix(np.abs(plain)), sp.coo_matrix(plain), sp.csc_array(plain > 0))


def labels():
    yield np.arange(12) % 2
    yield from (np.arange(12), np.zeros(12), np.full(12, np.nan), np.array(["a", "b"] * 6), np.array(["a", None] * 6, dtype=object))
    yield from ([], None, np.arange(3), np.arange(12).reshape(6, 2), np.array([1, "a"] * 6, dtype=object), [2**70, -1] * 6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", MODELS)
def test_fit_and_predict(make):
    weights = itertools.cycle([None, np.ones(12), np.zeros(12), -np.ones(12), np.full(12, np.nan), np.full(12, 1e308), [1]])
    fitted = make()
    try:
        fitted = fitted.fit(np.abs(np.random.default_rng(1).normal(size=(40, 3))).round(), np.arange(40) % 2)
    except ANSWERS:
        fitted = None
    answers = 0
    for X in matrices():
        for y in labels():
            try:
                make().fit(X, y, sample_weight=next(weights))
                answers += 1
            except ANSWERS:
                pass
        for method in ("predict_proba", "predict"):
            try:
                shape = np.shape(getattr(fitted, method)(X))
                assert len(shape) == (2 if method == "predict_proba" else 1)
                answers += 1
            except (*ANSWERS, AttributeError):
                pass
    assert answers > 0


@pytest.mark.filterwarnings("ignore")
def test_functions_of_arrays():
    odd = [[], [0.0], [np.nan], [np.inf, -np.inf], np.zeros((2, 2)), "a", None, [1e308, -1e308], [1, 2, 3], [[1.0, 2.0]]]
    functions = [
        *(getattr(evaluate, name) for name in ("cllr", "min_cllr", "auc", "eer", "dcf", "min_dcf", "roc", "reliability")),
        evaluate.bayes_error_curve,
        decide.posterior,
    ]
    for function, a, b in itertools.product(functions, odd, [*odd, [0, 1], [1, 1], [0.5, 0.5]]):
        try:
            function(a, b)
        except ANSWERS:
            pass
    for a, b, c in itertools.product(odd, odd, odd):
        try:
            decide.decide(a, b, c)
        except ANSWERS:
            pass


def test_evaluation_of_llrs():
    """Closed forms, so that the figures are those of the library and not others."""
    llr, y = np.log([0.25, 4.0, 1.0, 2.0]), np.array([0, 1, 0, 1])
    expected = 0.5 * (np.mean(np.log2(1 + 1 / np.array([4.0, 2.0]))) + np.mean(np.log2(1 + np.array([0.25, 1.0]))))
    assert abs(evaluate.cllr(llr, y) - expected) < 1e-14
    assert evaluate.min_cllr(llr, y) == 0 and evaluate.auc(llr, y) == 1 and evaluate.eer(llr, y) == 0
    # With these costs the threshold is ln 3, and one of two targets is missed; below, at ln 9, both are.
    assert abs(evaluate.dcf(llr, y, prior=0.1, cost_miss=3, cost_false_alarm=1) - 0.1 * 3 * 0.5) < 1e-14
    curve = evaluate.bayes_error_curve(llr, y, log_odds=[-np.log(9.0)])
    assert abs(curve["actual"][0] - 0.1) < 1e-14 and abs(curve["default"][0] - 0.1) < 1e-14
