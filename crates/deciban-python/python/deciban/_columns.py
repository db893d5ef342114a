"""Tables of any make as columns: NumPy arrays, pandas, Polars, PyArrow (anything with the Arrow C interface) and
SciPy sparse matrices. Kinds come from types: numbers are numbers, all else is a category. Flags are categories
with two levels, as on the command line.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

#: Codes that are reserved in the core.
MISSING, UNSEEN = 2**32 - 1, 2**32 - 2

@dataclass
class Column:
    """A column: numbers as they lie, or codes of levels."""

    name: str
    kind: str
    values: np.ndarray
    levels: list[str] = field(default_factory=list)


@dataclass
class Frame:
    """Columns of equal length, or one sparse matrix."""

    rows: int
    names: list[str]
    cells: list
    has_names: bool
    sparse: object = None


def frame(X) -> Frame:
    """The columns of a table, still as they come."""
    if type(X).__module__.startswith("scipy.sparse"):
        return Frame(X.shape[0], [f"x{j}" for j in range(X.shape[1])], [], False, X.tocsr())
    if hasattr(X, "iloc") and hasattr(X, "columns"):  # pandas
        return Frame(len(X), [str(name) for name in X.columns], [X.iloc[:, j] for j in range(X.shape[1])], True)
    if hasattr(X, "get_columns") and hasattr(X, "columns"):  # Polars
        return Frame(X.height, list(X.columns), X.get_columns(), True)
    if hasattr(X, "column_names") or hasattr(X, "__arrow_c_stream__"):  # PyArrow, and whoever speaks its C interface
        if not hasattr(X, "column_names"):
            import pyarrow

            X = pyarrow.table(X)
        return Frame(X.num_rows, list(X.column_names), list(X.itercolumns() if hasattr(X, "itercolumns") else X.columns), True)
    if isinstance(X, dict):
        cells = [np.asarray(cell) for cell in X.values()]
        rows = len(cells[0]) if cells else 0
        if any(cell.ndim != 1 or len(cell) != rows for cell in cells):
            raise ValueError("the columns of a dictionary must be lists of one length")
        return Frame(rows, [str(name) for name in X], cells, True)
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, rows and columns, and has {X.ndim}: reshape it")
    return Frame(X.shape[0], [f"x{j}" for j in range(X.shape[1])], [X[:, j] for j in range(X.shape[1])], False)


def as_array(cells) -> np.ndarray:
    """A column as a NumPy array: floats with NaN, integers, booleans, or objects with None."""
    if isinstance(cells, np.ndarray):
        return cells
    if hasattr(cells, "cat"):  # pandas or Polars: categories by their text
        if type(cells).__module__.startswith("pandas") and str(cells.dtype) == "category":
            return cells.astype(object).to_numpy()
    if hasattr(cells, "isna"):  # pandas
        kind = getattr(cells.dtype, "kind", "O")
        if kind in "iufb" and not cells.isna().any():
            return cells.to_numpy()
        if kind in "iufb":
            return cells.to_numpy(dtype=np.float64, na_value=np.nan)
        return cells.to_numpy(dtype=object, na_value=None) if hasattr(cells, "to_numpy") else np.asarray(cells)
    if hasattr(cells, "is_null") and hasattr(cells, "dtype"):  # Polars
        values = cells.to_numpy()
        if cells.dtype.is_numeric() and cells.null_count():
            return np.array(cells.to_list(), dtype=np.float64)
        return values if values.dtype.kind in "iufb" and not cells.null_count() else np.array(cells.to_list(), dtype=object)
    if hasattr(cells, "combine_chunks"):  # PyArrow: numbers without missing cells are not copied
        whole = cells.combine_chunks()
        whole = whole.chunk(0) if hasattr(whole, "chunk") and whole.num_chunks == 1 else whole
        import pyarrow as pa

        is_number = pa.types.is_integer(cells.type) or pa.types.is_floating(cells.type)
        if is_number:
            return np.asarray(whole.to_numpy(zero_copy_only=False))
        return np.array(cells.to_pylist(), dtype=object)
    return np.asarray(cells)


def is_missing(value) -> bool:
    """None, NaN, pandas' NA and NaT."""
    return value is None or value != value or type(value).__name__ in ("NAType", "NaTType")


def level_name(value) -> str:
    """A level or a class as files write it."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def inferred(values: np.ndarray) -> str:
    """The kind that a type speaks of."""
    if values.dtype.kind == "O":
        known = [value for value in values if not is_missing(value)]
        is_number = [isinstance(v, (int, float, np.integer, np.floating)) and not isinstance(v, bool) for v in known]
        return "number" if known and all(is_number) else "category"
    return "number" if values.dtype.kind in "iuf" else "category"


def numbers(name: str, values: np.ndarray) -> np.ndarray:
    """Numbers as the core reads them, where they lie if it can."""
    if values.dtype.kind not in "iufb":
        try:
            values = np.array([np.nan if is_missing(v) else float(v) for v in values], dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"column {name!r} has cells that are no numbers: it is a category") from None
    known = values.dtype.kind in "iub" or values.dtype in (np.float64, np.float32)
    if not known or not values.dtype.isnative:
        values = values.astype(np.float64)
    in_step = values.ndim == 1 and (len(values) == 0 or values.strides[0] % values.itemsize == 0)
    return values if in_step and values.flags.aligned else np.ascontiguousarray(values)


def codes(values: np.ndarray, levels: list[str] | None):
    """Codes of categories and their levels; `levels` are those of a model, unless they are to be found."""
    if values.dtype.kind in "iuf":
        values = values.astype(object)
    texts = [None if is_missing(value) else level_name(value) for value in values]
    if levels is None:
        levels = sorted({text for text in texts if text is not None})
        unknown = None
    else:
        unknown = UNSEEN
    places = {level: code for code, level in enumerate(levels)}
    found = [MISSING if text is None else places.get(text, unknown) for text in texts]
    return np.array(found, dtype=np.uint32), levels


def columns(X, kinds: dict[str, str]) -> tuple[Frame, list[Column]]:
    """The columns to learn from; `kinds` says what some are, "ignore" leaves one out."""
    table = frame(X)
    strange = [name for name in kinds if name not in table.names]
    if strange:
        raise ValueError(f"there is no column {strange[0]!r}, only {table.names[:20]}")
    found = []
    for name, cells in zip(table.names, table.cells):
        kind = kinds.get(name)
        if kind == "ignore":
            continue
        values = as_array(cells)
        kind = kind or inferred(values)
        if kind in ("category", "flag"):
            values, levels = codes(values, None)
            if kind == "flag" and len(levels) > 2:
                raise ValueError(f"column {name!r} is no flag: it has {len(levels)} different values")
            found.append(Column(name, "category", values, levels))
        else:
            found.append(Column(name, kind, numbers(name, values)))
    return table, found


def columns_for(X, wanted: list[tuple[str, str, list[str]]]) -> tuple[Frame, list[Column]]:
    """The columns that a model takes: by name if the table has names, else by place."""
    table = frame(X)
    if table.sparse is not None:
        return table, []
    if table.has_names:
        places = {name: j for j, name in enumerate(table.names)}
        missing = [name for name, _, _ in wanted if name not in places]
        if missing:
            raise ValueError(f"X lacks the column {missing[0]!r}; it has {table.names[:20]}")
        cells = [table.cells[places[name]] for name, _, _ in wanted]
    else:
        if len(table.cells) != len(wanted):
            raise ValueError(f"X has {len(table.cells)} columns, and the model takes {len(wanted)}")
        cells = table.cells
    found = []
    for (name, kind, levels), cell in zip(wanted, cells):
        values = as_array(cell)
        if kind == "category" or levels:
            found.append(Column(name, "category", codes(values, levels)[0], levels))
        elif kind == "text":
            raise ValueError(f"column {name!r} holds texts, which the Python package does not read yet")
        else:
            found.append(Column(name, kind, numbers(name, values)))
    return table, found
