"""Columns of any make for the core. Numbers in arrays stay where they lie. All other cells become a `_core.Column`,
and are read as those of files: what a column is, its levels and its words are those that the program finds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from . import _core
from ._frame import Frame, as_array, has_arrow, with_types


def column(name: str, cells) -> np.ndarray | _core.Column:
    """One column: an array of numbers where it lies, or else cells for the core."""
    if isinstance(cells, _core.Column):
        return cells
    if hasattr(cells, "iloc"):  # pandas
        cells = of_pandas(cells)
    elif has_arrow(cells):
        return _core.Column.of_arrow(with_types(cells))
    if isinstance(cells, _core.Column):
        return cells
    values = as_array(cells)
    if values.ndim != 1:
        raise ValueError(f"column {name!r} must have one dimension, and has {values.ndim}")
    if values.dtype.kind in "iuf":
        return in_step(values)
    if values.dtype.kind == "b":
        return _core.Column.of_array(values)
    if values.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: column {name!r} has complex numbers")
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
        # Columns of pandas before version 3 have no C interface, but what is behind them has.
        return _core.Column.of_arrow(cells if has_arrow(cells) else cells.array.__arrow_array__())
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


def learn_from(core, table: Frame, kinds: dict, missing: Sequence[float] = ()) -> None:
    """Adds the columns to learn from to a table of the core; `kinds` says what some are, by name, or by place where
    the table has no names; `missing` are numbers that stand for a missing cell."""
    kinds = {**table.kinds, **{named(name, table): kind for name, kind in kinds.items()}}
    add_sparse(core, table)
    once(table)
    for name, cells in zip(table.names, table.cells):
        kind = kinds.get(name)
        if kind == "ignore":
            continue
        cells = without(column(name, cells), missing)
        if isinstance(cells, np.ndarray) and kind in (None, "number", "count"):
            core.add_numbers(name, cells, kind or "number")
        else:
            core.add_column(name, _core.Column.of_array(cells) if isinstance(cells, np.ndarray) else cells, kind)
    if table.has_names:
        core.came_along([name for name in table.names if name not in kinds])


def named(name, table: Frame) -> str:
    """The column that an option names; a table without names takes numbers, too."""
    if str(name) in table.names:
        return str(name)
    if isinstance(name, (int, np.integer)) and not table.has_names and -table.width <= name < table.width:
        return table.names[name] if table.names else str(name)
    raise ValueError(f"there is no column {name!r}, only {table.some_names()}")


def once(table: Frame, wanted=None) -> None:
    """Refuses names that occur twice: which column is meant?"""
    seen = set()
    for name in table.names:
        if name in seen and (wanted is None or name in wanted):
            raise ValueError(f"there are several columns {name!r}: names must be unique")
        seen.add(name)


def arranged(table: Frame, model) -> Frame:
    """The columns that a model takes, by their names, in its order."""
    names = [name for name, _ in model.columns]
    once(table, set(names))
    places = {name: j for j, name in enumerate(table.names)}
    lacking = [name for name in names if name not in places]
    if lacking:
        raise ValueError(f"X lacks the column {lacking[0]!r}; it has {table.some_names()}")
    return Frame(table.rows, names, [table.cells[places[name]] for name in names], True)


def score(core, table: Frame, model, missing: Sequence[float] = (), seen: tuple[int, list[int]] | None = None) -> None:
    """Adds the columns that a model takes: by name if the table has names, else by place. `seen` is the width of the
    table of the fit, and the places of the columns that were not left out of it."""
    wanted, counts = model.columns, has_counts(model)
    if table.sparse is not None and not counts:
        raise ValueError(f"the model has learned from the columns {[name for name, _ in wanted[:20]]}, not counts")
    if counts and not table.has_names:
        check_width(table.width, width_of(model))
        return add_sparse(core, table if table.sparse is not None else as_sparse(table))
    if table.has_names:
        found = arranged(table, model).cells
    else:
        width, places = seen or (len(wanted), range(len(wanted)))
        check_width(table.width, width)
        found = [table.cells[j] for j in places]
    core.read_as(model)
    for place, ((name, kind), cells) in enumerate(zip(wanted, found)):
        cells = without(column(name, cells), missing)
        if isinstance(cells, np.ndarray) and kind in ("number", "count"):
            core.add_numbers(name, cells, kind)
        else:
            cells = _core.Column.of_array(cells) if isinstance(cells, np.ndarray) else cells
            core.add_known(model, place, cells)


def has_counts(model) -> bool:
    """Whether a model has learned from a sparse matrix: counts of words without their texts."""
    columns = model.columns
    return len(columns) == 1 and columns[0][1] == "text" and not model.reads_texts


def width_of(model) -> int:
    """How many columns the table has that a model takes."""
    return model.level_count(0) if has_counts(model) else len(model.columns)


def as_sparse(table: Frame) -> Frame:
    """Counts in an array, for a model that has learned from a sparse matrix."""
    from scipy.sparse import csr_matrix

    cells = np.column_stack(table.cells) if table.cells else np.empty((table.rows, 0))
    return Frame(table.rows, [], [], False, csr_matrix(cells.astype(np.float64)))


def check_width(width: int, wanted: int) -> None:
    """Refuses a table without names that has other columns than those of the fit."""
    if width != wanted:
        raise ValueError(f"X has {width} features, but Classifier is expecting {wanted} features as input")


def without(cells, missing: Sequence[float]):
    """A column in which numbers that stand for a missing cell are missing."""
    if not len(missing):
        return cells
    if isinstance(cells, _core.Column):
        return cells.without(missing)
    gone = np.isin(cells, missing)
    return np.where(gone, np.nan, cells) if gone.any() else cells


def add_sparse(core, table: Frame) -> None:
    """Adds a sparse matrix, if the table is one."""
    if table.sparse is None:
        return
    X = canonical(table.sparse)
    core.add_sparse("x", X.indptr, X.indices, in_step(X.data), X.shape[1])
