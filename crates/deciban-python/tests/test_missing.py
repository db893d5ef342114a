"""Missing cells: `impute` returns the kind of table it was given, `next_measurement` ranks what is worth measuring."""

import numpy as np
import pandas as pd
import pytest
from deciban import Classifier

RNG = np.random.default_rng(0)
ROWS = 200
LABELS = np.repeat(["a", "b"], ROWS // 2)
SHIFT = np.repeat([0.0, 3.0], ROWS // 2)
FIRST = SHIFT + RNG.normal(size=ROWS)
FRAME = pd.DataFrame(
    {"x": FIRST, "y": 2 * FIRST + 0.1 * RNG.normal(size=ROWS), "colour": np.where(RNG.uniform(size=ROWS) < 0.8, np.where(SHIFT > 0, "red", "blue"), "green")}
)
NUMBERS = FRAME[["x", "y"]].to_numpy()


@pytest.fixture(scope="module")
def gaussian():
    return Classifier("gaussian").fit(NUMBERS, LABELS)


@pytest.fixture(scope="module")
def mixed():
    return Classifier("naive-bayes").fit(FRAME, LABELS)


def test_the_conditional_mean_is_that_of_the_class(gaussian):
    rows = np.array([[1.0, np.nan], [np.nan, 5.0], [1.0, 2.0]])
    filled = gaussian.impute(rows, ["a", "b", "a"])
    for row, column, label in [(0, 1, "a"), (1, 0, "b")]:
        own, other = NUMBERS[LABELS == label], 1 - column
        mean, covariance = own.mean(axis=0), np.cov(own.T, bias=True)
        slope = covariance[column, other] / covariance[other, other]
        assert filled[row, column] == pytest.approx(mean[column] + slope * (rows[row, other] - mean[other]), rel=1e-10)
    assert filled[2].tolist() == [1.0, 2.0] and np.isnan(rows[0, 1])  # X stays as it is
    # Some labels may be missing; those rows have all classes by their posterior.
    some = gaussian.impute([[np.nan, np.nan]] * 2, ["b", None])
    assert some[0] == pytest.approx(NUMBERS[LABELS == "b"].mean(axis=0).tolist())
    assert some[1] == pytest.approx(NUMBERS.mean(axis=0).tolist())


def test_draws_repeat_and_keep_the_spread(gaussian):
    rows = np.full((4000, 2), np.nan)
    rows[:, 0] = 1.0
    labels = np.repeat("a", 4000)
    drawn = gaussian.impute(rows, labels, how="draw", seed=1)
    assert np.array_equal(drawn, gaussian.impute(rows, labels, how="draw", seed=1))
    assert not np.array_equal(drawn, gaussian.impute(rows, labels, how="draw", seed=2))
    own = np.cov(NUMBERS[LABELS == "a"].T, bias=True)
    variance = own[1, 1] - own[0, 1] ** 2 / own[0, 0]
    assert drawn[:, 1].var() == pytest.approx(variance, rel=0.1)


def gaps():
    return pd.DataFrame({"x": [0.0, np.nan, 3.0], "y": [np.nan, 6.0, 6.0], "colour": ["blue", "red", None]})


def test_pandas_keeps_its_index_and_types(mixed):
    rows = gaps().set_index(pd.Index(["i", "j", "k"]))
    rows["colour"] = rows["colour"].astype(pd.CategoricalDtype(["blue", "green", "red"]))
    filled = mixed.impute(rows)
    assert type(filled) is pd.DataFrame and list(filled.index) == ["i", "j", "k"] and list(filled.columns) == list(rows.columns)
    assert filled.dtypes.equals(rows.dtypes) and not filled.isna().any().any()
    assert filled.loc["k", "colour"] == "red" and filled.loc["i", "x"] == 0.0
    assert rows.isna().sum().sum() == 3


def test_other_tables_stay_what_they_are(mixed):
    expected = mixed.impute(gaps())
    columns = {name: [None if pd.isna(cell) else cell for cell in gaps()[name]] for name in gaps()}
    of_columns = mixed.impute(columns)
    assert type(of_columns) is dict and of_columns["colour"] == expected["colour"].tolist()
    assert of_columns["x"] == pytest.approx(expected["x"].tolist())
    records = mixed.impute(gaps().to_dict("records"))
    assert isinstance(records, list) and records[2] == {"x": 3.0, "y": 6.0, "colour": "red"}
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({name: columns[name] for name in columns})
    filled = mixed.impute(table)
    assert type(filled) is polars.DataFrame and filled.schema == table.schema and filled["colour"].to_list()[2] == "red"
    arrow = pytest.importorskip("pyarrow")
    filled = mixed.impute(arrow.table(columns))
    assert type(filled) is arrow.Table and filled.column("x").null_count == 0


def test_what_cannot_be_filled_is_said(gaussian):
    with pytest.raises(ValueError, match="generative"):
        Classifier("logistic").fit(NUMBERS, LABELS).impute([[np.nan, 1.0]])
    with pytest.raises(ValueError, match="how"):
        gaussian.impute(NUMBERS, how="median")
    with pytest.raises(ValueError, match="'c'"):
        gaussian.impute(NUMBERS[:1], ["c"])
    assert np.array_equal(gaussian.impute(NUMBERS), NUMBERS)


def test_what_to_measure_next(mixed):
    nothing = {"x": [None, 1.5], "y": [None, None], "colour": [None, "green"]}
    first, second = mixed.next_measurement(nothing)
    assert {worth.column for worth in first.measurements} == {"x", "y", "colour"}
    assert [worth.column for worth in second.measurements] == ["y"]
    ranked = [worth.per_cost for worth in first.measurements]
    assert ranked == sorted(ranked, reverse=True) and min(ranked) >= 0 and first.risk == pytest.approx(0.5)
    # A column of levels is summed over: ½ − ½ Σ min(p(v | a), p(v | b)), with a pseudo-count of 1.
    shares = [(FRAME["colour"][LABELS == label].value_counts().reindex(["blue", "green", "red"], fill_value=0) + 1) / 103 for label in "ab"]
    colour = next(worth for worth in first.measurements if worth.column == "colour")
    assert colour.exact and colour.reduction == pytest.approx(0.5 - np.minimum(*shares).sum() / 2, rel=1e-9)
    dear = mixed.next_measurement(nothing, measure_costs={"x": 1000, "y": 1000})[0]
    assert dear.measurements[0].column == "colour" and dear.to_frame().shape == (3, 7)
    assert "lowers the risk by" in str(dear)
    with pytest.raises(ValueError, match="no column `z`"):
        mixed.next_measurement(nothing, measure_costs={"z": 1})
