"""Tables with their missing cells filled: of the same make as they came."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import numpy as np

from ._frame import Frame, has_arrow
from ._labels import is_missing, level_name


def filled(X, frame: Frame, cells: dict):
    """A copy of the table X in which cells are filled; `cells` has rows and values by the place of the column."""
    if hasattr(X, "collect") and hasattr(X, "collect_schema"):  # a lazy frame of Polars
        X = X.collect()
    if hasattr(X, "iloc") and hasattr(X, "columns"):  # pandas
        return of_pandas(X, cells)
    if type(X).__module__.startswith("polars"):
        return of_polars(X, cells)
    if type(X).__module__.startswith("pyarrow"):
        return of_arrow(X, cells)
    if isinstance(X, Mapping):
        return {name: column(X[name], cells.get(j)) for j, name in enumerate(X)}
    if isinstance(X, (list, tuple)) and X and all(isinstance(row, Mapping) for row in X):
        rows = [dict(row) for row in X]
        for j, (places, values) in cells.items():
            name = frame.names[j]
            for row, value in zip(places, in_kind([row.get(name) for row in X], values)):
                rows[row][name] = value
        return rows
    if isinstance(X, (list, tuple)):
        rows = [list(row) for row in X]
        for j, (places, values) in cells.items():
            for row, value in zip(places, in_kind([row[j] for row in X], values)):
                rows[row][j] = value
        return rows
    if has_arrow(X) and not isinstance(X, np.ndarray):
        raise TypeError(f"X is a {type(X).__name__}: give a data frame of pandas or Polars, a table of PyArrow, an array or a dictionary")
    return of_array(np.asarray(X), cells)


def of_array(X: np.ndarray, cells: dict) -> np.ndarray:
    """An array of numbers or objects."""
    copy = X.copy()
    for j, (rows, values) in cells.items():
        copy[rows, j] = values if copy.dtype.kind == "f" else in_kind(X[:, j].tolist(), values)
    return copy


def column(cells, fill):
    """One column of a dictionary."""
    if fill is None:
        return cells
    rows, values = fill
    if hasattr(cells, "iloc"):
        return of_series(cells, rows, values)
    if type(cells).__module__.startswith("polars"):
        return series_of_polars(cells, rows, values)
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "f":
        copy = cells.copy()
        copy[rows] = values
        return copy
    given = cells.tolist() if isinstance(cells, np.ndarray) else list(cells)
    for row, value in zip(rows, in_kind(given, values)):
        given[row] = value
    if isinstance(cells, np.ndarray):
        copy = np.empty(len(given), dtype=cells.dtype if cells.dtype.kind in "iufb" else object)
        copy[:] = given
        return copy
    return type(cells)(given) if isinstance(cells, (list, tuple)) else given


def of_pandas(X, cells: dict):
    """A data frame of pandas."""
    columns = [X.iloc[:, j] for j in range(X.shape[1])]
    for j, (rows, values) in cells.items():
        columns[j] = of_series(columns[j], rows, values)
    copy = sys.modules["pandas"].concat(columns, axis=1) if columns else X.copy()
    copy.columns = X.columns
    return copy


def of_series(series, rows, values):
    """A column of pandas."""
    series = series.copy()
    if series.dtype.kind == "M":
        moments = np.datetime64("1970-01-01", "ns") + (np.asarray(values) * 86400e9).astype("m8[ns]")
        moments = sys.modules["pandas"].Series(moments).dt.tz_localize(getattr(series.dtype, "tz", None))
        series.iloc[rows] = moments.to_numpy() if getattr(series.dtype, "tz", None) is None else moments.array
        return series
    values = in_kind(series.tolist(), values)
    if series.dtype.kind in "iu" and any(value != int(value) for value in values):
        series = series.astype("Float64" if hasattr(series.dtype, "numpy_dtype") else "float64")
    if hasattr(series.dtype, "categories"):
        values = in_kind(series.dtype.categories.tolist(), [level_name(value) for value in values])
    series.iloc[rows] = values
    return series


def of_polars(X, cells: dict):
    """A data frame of Polars."""
    return X.with_columns(series_of_polars(X.to_series(j), *fill) for j, fill in cells.items())


def series_of_polars(series, rows, values):
    """A column of Polars."""
    polars = sys.modules["polars"]
    if series.dtype.is_integer():
        series = series.cast(polars.Float64)
    given = series.to_list()
    if series.dtype.is_temporal():
        import datetime

        midnight = datetime.datetime(1970, 1, 1)
        values = [midnight + datetime.timedelta(days=value) for value in values]
        values = [value.date() for value in values] if series.dtype == polars.Date else values
    else:
        values = in_kind(given, values)
    for row, value in zip(rows, values):
        given[row] = value
    return polars.Series(series.name, given, dtype=polars.Float64 if series.dtype == polars.Null else series.dtype)


def of_arrow(X, cells: dict):
    """A table of PyArrow."""
    arrow = sys.modules["pyarrow"]
    for j, (rows, values) in cells.items():
        given, type_ = X.column(j).to_pylist(), X.schema.field(j).type
        for row, value in zip(rows, in_kind(given, values)):
            given[row] = value
        if arrow.types.is_integer(type_) or arrow.types.is_null(type_):
            type_ = arrow.float64() if values and isinstance(values[0], float) else arrow.string()
        X = X.set_column(j, X.schema.field(j).name, arrow.array(given, type=type_))
    return X


def in_kind(given, values):
    """Names of levels as the cells that they are the names of; numbers as they are."""
    if not values or not isinstance(values[0], str):
        return values
    known = {}
    for cell in given:
        if not is_missing(cell):
            known.setdefault(level_name(cell), cell)
    return [known.get(value, value) for value in values]
