"""Tables of any make as columns: NumPy arrays and dictionaries of columns, pandas, whatever has Arrow's C interface
(Polars, PyArrow, ...), and SciPy sparse matrices.

Numbers in arrays stay where they lie. All other cells become a `_core.Column`, and are read as those of files:
what a column is, its levels and its words are those that the program finds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import _core


@dataclass
class Frame:
    """Columns of equal length, or one sparse matrix."""

    rows: int
    names: list[str]
    cells: list
    has_names: bool
    sparse: object = None


def frame(X) -> Frame:
    """The columns of a table, as they come."""
    if type(X).__module__.startswith("scipy.sparse"):
        return Frame(X.shape[0], [f"x{j}" for j in range(X.shape[1])], [], False, X)
    if hasattr(X, "iloc") and hasattr(X, "columns"):  # pandas
        return Frame(len(X), [str(name) for name in X.columns], [X.iloc[:, j] for j in range(X.shape[1])], True)
    if has_arrow(X):
        columns, rows = _core.arrow_columns(X)
        return Frame(rows, [name for name, _ in columns], [cells for _, cells in columns], True)
    if isinstance(X, dict):
        keeps = (isinstance(cell, _core.Column) or hasattr(cell, "iloc") or has_arrow(cell) for cell in X.values())
        cells = [cell if keep else as_array(cell) for cell, keep in zip(X.values(), keeps)]
        rows = len(cells[0]) if cells and getattr(cells[0], "ndim", 1) else 0
        if any(getattr(cell, "ndim", 1) == 0 or len(cell) != rows for cell in cells):
            raise ValueError("the columns of a dictionary must be lists of one length")
        return Frame(rows, [str(name) for name in X], cells, True)
    X = as_array(X)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, rows and columns, and has {X.ndim}: reshape it")
    return Frame(X.shape[0], [f"x{j}" for j in range(X.shape[1])], [X[:, j] for j in range(X.shape[1])], False)


def as_array(cells) -> np.ndarray:
    """Lists as arrays; NumPy would make a text of a NaN among texts."""
    values = np.asarray(cells)
    return np.asarray(cells, dtype=object) if values.dtype.kind in "US" and values is not cells else values


def has_arrow(X) -> bool:
    """Whether it speaks Arrow's C interface."""
    return hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__")


def column(name: str, cells) -> np.ndarray | _core.Column:
    """One column: an array of numbers where it lies, or else cells for the core."""
    if isinstance(cells, _core.Column):
        return cells
    if hasattr(cells, "iloc"):  # pandas
        cells = of_pandas(cells)
    elif has_arrow(cells):
        return _core.Column.of_arrow(cells)
    if isinstance(cells, _core.Column):
        return cells
    values = as_array(cells)
    if values.ndim != 1:
        raise ValueError(f"column {name!r} must have one dimension, and has {values.ndim}")
    if values.dtype.kind in "iuf":
        return in_step(values)
    if values.dtype.kind == "b":
        return _core.Column.of_array(values)
    if values.dtype.kind in "mM" and np.datetime_data(values.dtype)[0] != "generic":
        since = values - np.zeros((), values.dtype)
        return since / np.timedelta64(1, "D")  # as the program: days since 1970-01-01
    return _core.Column.of_list(values.tolist())


def of_pandas(cells):
    """A column of pandas, without a copy where that can be."""
    dtype = cells.dtype
    if hasattr(dtype, "categories"):
        categories = column("categories", dtype.categories.to_numpy())
        if isinstance(categories, np.ndarray):
            categories = _core.Column.of_array(categories)
        return _core.Column.of_codes(cells.cat.codes.to_numpy(dtype=np.int32), categories)
    if getattr(dtype, "storage", None) == "pyarrow" or hasattr(dtype, "pyarrow_dtype"):
        return _core.Column.of_arrow(cells)
    if isinstance(dtype, np.dtype):
        return cells.to_numpy()
    if dtype.kind in "iuf" and cells.isna().any():
        return cells.to_numpy(dtype=np.float64, na_value=np.nan)
    if dtype.kind == "M":  # with a time zone
        return cells.to_numpy(dtype="M8[ns]")
    return cells.to_numpy(dtype=object, na_value=None) if dtype.kind not in "iuf" else cells.to_numpy()


def in_step(values: np.ndarray) -> np.ndarray:
    """Numbers as the core reads them, where they lie if it can."""
    known = values.dtype.kind in "iub" or values.dtype in (np.float64, np.float32)
    if not known or not values.dtype.isnative:
        values = values.astype(np.float64)
    steps = all(stride % values.itemsize == 0 for stride in values.strides)
    return values if steps and values.flags.aligned else np.ascontiguousarray(values)


def canonical(X):
    """Compressed rows in which no column occurs twice; the caller's matrix stays as it is."""
    X = X.tocsr()
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def learn_from(core, table: Frame, kinds: dict[str, str]) -> None:
    """Adds the columns to learn from to a table of the core; `kinds` says what some are."""
    strange = [name for name in kinds if name not in table.names]
    if strange:
        raise ValueError(f"there is no column {strange[0]!r}, only {table.names[:20]}")
    add_sparse(core, table)
    for name, cells in zip(table.names, table.cells):
        kind = kinds.get(name)
        if kind == "ignore":
            continue
        cells = column(name, cells)
        if isinstance(cells, np.ndarray) and kind in (None, "number", "count"):
            core.add_numbers(name, cells, kind or "number")
        else:
            core.add_column(name, _core.Column.of_array(cells) if isinstance(cells, np.ndarray) else cells, kind)


def score(core, table: Frame, model) -> None:
    """Adds the columns that a model takes: by name if the table has names, else by place."""
    wanted = model.columns
    if table.sparse is not None:
        if len(wanted) != 1 or wanted[0][1] != "text" or model.reads_texts:
            raise ValueError(f"the model has learned from the columns {[name for name, _ in wanted[:20]]}, not counts")
        return add_sparse(core, table)
    if table.has_names:
        places = {name: j for j, name in enumerate(table.names)}
        missing = [name for name, _ in wanted if name not in places]
        if missing:
            raise ValueError(f"X lacks the column {missing[0]!r}; it has {table.names[:20]}")
        found = [table.cells[places[name]] for name, _ in wanted]
    else:
        if len(table.cells) != len(wanted):
            raise ValueError(f"X has {len(table.cells)} columns, and the model takes {len(wanted)}")
        found = table.cells
    core.read_as(model)
    for place, ((name, kind), cells) in enumerate(zip(wanted, found)):
        cells = column(name, cells)
        if isinstance(cells, np.ndarray) and kind in ("number", "count"):
            core.add_numbers(name, cells, kind)
        else:
            cells = _core.Column.of_array(cells) if isinstance(cells, np.ndarray) else cells
            core.add_known(model, place, cells)


def add_sparse(core, table: Frame) -> None:
    """Adds a sparse matrix, if the table is one."""
    if table.sparse is None:
        return
    X = canonical(table.sparse)
    core.add_sparse("x", X.indptr, X.indices, in_step(X.data), X.shape[1])


def is_missing(value) -> bool:
    """None, NaN, pandas' NA and NaT."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def level_name(value) -> str:
    """A class as files write it."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def labels(y, rows: int) -> tuple[np.ndarray, dict]:
    """Codes of labels, and the labels by their names in ascending order; None and NaN are rows without one."""
    if hasattr(y, "iloc"):
        y = y.to_numpy() if isinstance(y.dtype, np.dtype) else y.to_numpy(dtype=object, na_value=None)
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1 or len(y) != rows:
        raise ValueError(f"y must have a label for each of {rows} rows, and has shape {y.shape}")
    if y.dtype.kind in "iub" and y.dtype != np.uint64:
        codes = np.empty(rows, dtype=np.uint32)
        classes = _core.encode_integers(np.ascontiguousarray(y, dtype=np.int64), codes)
        if classes is not None:
            return codes, {level_name(label): label for label in np.array(classes).astype(y.dtype).tolist()}
    # Labels are hashed and not sorted: there are few different ones.
    places: dict = {}
    try:
        codes = np.fromiter((places.setdefault(label, len(places)) for label in y.tolist()), dtype=np.int64, count=rows)
        classes = sorted(label for label in places if not is_missing(label))
    except TypeError:
        raise ValueError("labels must be of one type") from None
    names = {level_name(label): label for label in classes}
    if len(names) < len(classes):
        raise ValueError("two labels have the same text: give each class a name of its own")
    found = np.full(len(places) + 1, _core.MISSING, dtype=np.uint32)
    found[[places[label] for label in classes]] = np.arange(len(classes))
    return found[codes], names
