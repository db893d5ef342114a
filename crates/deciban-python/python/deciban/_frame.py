"""Tables of any make as columns: NumPy arrays, lists of rows, of dictionaries and of texts, dictionaries of columns,
pandas, whatever has Arrow's C interface (Polars, PyArrow, ...), and SciPy sparse matrices.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

import numpy as np

from . import _core

#: The name of the only column where a table is a list of texts.
TEXT = "text"


@dataclass
class Frame:
    """Columns of equal length, or one sparse matrix."""

    rows: int
    names: list[str]
    cells: list
    has_names: bool
    sparse: object = None
    #: What some columns are because of how the table was given.
    kinds: dict[str, str] = field(default_factory=dict)

    @property
    def width(self) -> int:
        return len(self.names) if self.sparse is None else self.sparse.shape[1]

    def some_names(self) -> list[str]:
        """The first names, for errors."""
        return self.names[:20]

    def without(self, names) -> Frame:
        """The table without some columns."""
        kept = [(name, cells) for name, cells in zip(self.names, self.cells) if name not in names]
        return Frame(self.rows, [name for name, _ in kept], [cells for _, cells in kept], self.has_names)


class Matrix(Frame):
    """The columns of an array. They are made when somebody asks for them: an array of no rows may have any width, and
    is refused by its shape before that."""

    def __init__(self, array: np.ndarray):
        self.array, self.rows, self.has_names, self.kinds = array, array.shape[0], False, {}

    @property
    def width(self) -> int:
        return self.array.shape[1]

    def some_names(self) -> list[str]:
        return [f"x{j}" for j in range(min(self.width, 20))]

    @cached_property
    def names(self) -> list[str]:
        return [f"x{j}" for j in range(self.width)]

    @cached_property
    def cells(self) -> list:
        return [self.array[:, j] for j in range(self.width)]


def frame(X) -> Frame:
    """The columns of a table, as they come."""
    if isinstance(X, Frame):
        return X
    if type(X).__module__.startswith("scipy.sparse"):
        return Frame(X.shape[0], [], [], False, X)
    if hasattr(X, "collect") and hasattr(X, "collect_schema"):  # a lazy frame of Polars
        X = X.collect()
    if hasattr(X, "iloc") and hasattr(X, "columns"):  # pandas
        return Frame(len(X), [str(name) for name in X.columns], [X.iloc[:, j] for j in range(X.shape[1])], True)
    if is_series(X):
        return of_texts(X, str(X.name) if getattr(X, "name", None) else TEXT)
    if has_arrow(X):
        columns, rows = _core.arrow_columns(with_types(X))
        return Frame(rows, [name for name, _ in columns], [cells for _, cells in columns], True)
    if isinstance(X, Mapping):
        return of_columns(X)
    if isinstance(X, (list, tuple)) and X and all(isinstance(row, Mapping) for row in X):
        return of_records(X)
    X = as_array(X)
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: X has complex numbers")
    if X.ndim == 1 and is_text(X):
        return of_texts(X, TEXT)
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {['scalar', '1D'][X.ndim] if X.ndim < 2 else f'{X.ndim}D'} array instead: X must "
            "have rows and columns. Reshape your data: X.reshape(-1, 1) makes one column, X.reshape(1, -1) one row."
        )
    return Matrix(X)


def column(X, name):
    """A column of a table by its name, as labels are given."""
    if hasattr(X, "collect") and hasattr(X, "collect_schema"):  # a lazy frame of Polars
        X = X.collect()
    try:
        return [row.get(name) for row in X] if isinstance(X, (list, tuple)) else X[name]
    except (KeyError, IndexError, TypeError, AttributeError):
        pass
    except Exception as error:  # Polars and PyArrow have errors of their own
        raise ValueError(f"there is no column {name!r}: {error}") from None
    raise ValueError(f"there is no column {name!r}, only {frame(X).some_names()}")


def check_size(table: Frame) -> None:
    """Refuses tables without rows or columns to learn from."""
    if table.rows == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape=(0, {table.width})) while a minimum of 1 is required: X has no rows")
    if table.width == 0:
        raise ValueError(
            f"Found array with 0 feature(s) (shape=({table.rows}, 0)) while a minimum of 1 is required: X has no columns"
        )


def of_columns(columns: Mapping) -> Frame:
    """A dictionary of columns."""
    keeps = (isinstance(cell, _core.Column) or is_series(cell) or has_arrow(cell) for cell in columns.values())
    cells = [cell if keep else as_array(cell) for cell, keep in zip(columns.values(), keeps)]
    rows = len(cells[0]) if cells and getattr(cells[0], "ndim", 1) else 0
    for name, cell in zip(columns, cells):
        if getattr(cell, "ndim", 1) == 0 or len(cell) != rows:
            length = "a single value" if getattr(cell, "ndim", 1) == 0 else f"{len(cell)} cells"
            raise ValueError(f"the columns of a dictionary must be lists of one length: {name!r} has {length}, not {rows}")
    return Frame(rows, [str(name) for name in columns], cells, True)


def of_records(rows) -> Frame:
    """A list of dictionaries: a cell that a row does not name is missing."""
    names = list(dict.fromkeys(chain.from_iterable(rows)))
    return of_columns({name: as_array([row.get(name) for row in rows]) for name in names})


def of_texts(cells, name: str) -> Frame:
    """One column of texts."""
    if not is_series(cells):
        return Frame(len(cells), [name], [cells], False, kinds={name: "text"})
    if not is_text(cells):
        raise ValueError(f"Expected 2D array, got 1D array instead: the column {name!r} is not a table. Reshape your data: give a data frame")
    return Frame(len(cells), [name], [cells], False, kinds={name: "text"})


def is_series(X) -> bool:
    """Whether it is a column of pandas or Polars."""
    return hasattr(X, "to_numpy") and hasattr(X, "dtype") and hasattr(X, "to_frame")


def is_text(cells) -> bool:
    """Whether the cells are texts, or missing."""
    if getattr(cells.dtype, "kind", None) in tuple("iufbcmM"):
        return False
    values = cells if isinstance(cells, np.ndarray) else cells.to_numpy()
    if values.dtype.kind == "U":
        return True
    types = set(map(type, values.tolist())) if values.dtype.kind == "O" else set()
    return str in types and all(t in (str, type(None), float) or t.__name__ == "NAType" for t in types)


def with_types(X):
    """Columns of Polars that have no type, and so no cells, as numbers that are missing: Arrow's C interface knows no
    buffers of such columns, and Polars gives one."""
    if not type(X).__module__.startswith("polars"):
        return X
    polars = sys.modules["polars"]
    if hasattr(X, "schema"):
        return X.with_columns(polars.col(name).cast(polars.Float64) for name, type in X.schema.items() if type == polars.Null)
    return X.cast(polars.Float64) if X.dtype == polars.Null else X


def has_arrow(X) -> bool:
    """Whether it speaks Arrow's C interface."""
    return hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__")


def as_array(cells) -> np.ndarray:
    """Lists as arrays. Where there are texts the cells stay objects: NumPy would make a text of a NaN among them, and
    as much room for each text as the longest takes."""
    if isinstance(cells, np.ma.MaskedArray):
        return unmasked(cells)
    if isinstance(cells, (list, tuple)) and cells:
        nested = {type(row) for row in cells}
        if nested <= {list, tuple}:
            width = len(cells[0])
            odd = next((i for i, row in enumerate(cells) if len(row) != width), None)
            if odd is not None:
                raise ValueError(f"row {odd} of X has {len(cells[odd])} cells, and row 0 has {width}")
            if not is_plain(set(map(type, chain.from_iterable(cells)))):
                table = np.empty((len(cells), width), dtype=object)
                for i, row in enumerate(cells):
                    table[i, :] = row
                return table
        elif not is_plain(nested) and not any(hasattr(t, "__array__") or hasattr(t, "__len__") for t in nested - {str, bytes}):
            column = np.empty(len(cells), dtype=object)
            column[:] = cells
            return column
    values = np.asarray(cells)
    return np.asarray(cells, dtype=object) if values.dtype.kind in "US" and values is not cells else values


def is_plain(types: set[type]) -> bool:
    """Whether NumPy makes numbers or flags of them."""
    return all(t in (int, float, complex, bool) or issubclass(t, np.generic) and not issubclass(t, (np.character, np.object_)) for t in types)


def unmasked(cells: np.ma.MaskedArray) -> np.ndarray:
    """Cells behind a mask are missing."""
    if not np.ma.is_masked(cells):
        return cells.data
    kind = cells.dtype.kind
    if kind in "iuf":
        return np.where(np.ma.getmaskarray(cells), np.nan, cells.data)
    if kind in "mM":
        return cells.filled(np.array("NaT", dtype=cells.dtype))
    objects = cells.data.astype(object)
    objects[np.ma.getmaskarray(cells)] = None
    return objects
