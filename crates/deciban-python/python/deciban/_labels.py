"""Labels, weights and names as users give them."""

from __future__ import annotations

import numpy as np

from . import _core
from ._estimator import warn_of_conversion
from ._frame import as_array


def listed(names) -> list:
    """A name, or several in a list, an array, an Index or a Series."""
    if names is None:
        return []
    if isinstance(names, (str, bytes, int, np.integer)):
        return [names]
    return list(names.tolist() if hasattr(names, "tolist") else names)


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


def array_of(y) -> np.ndarray:
    """Labels as an array in which missing ones are None or NaN."""
    if hasattr(y, "iloc"):
        if y.ndim != 1:  # a data frame
            return y.to_numpy()
        return y.to_numpy() if isinstance(y.dtype, np.dtype) else y.to_numpy(dtype=object, na_value=None)
    if hasattr(y, "to_numpy"):  # Polars, PyArrow
        y = y.to_numpy()
    return as_array(y)


def column_of(y, rows: int) -> np.ndarray:
    """A label for each row."""
    if y is None:
        raise ValueError("Classifier requires y to be passed, but the target y is None")
    y = array_of(y)
    if y.dtype.kind == "c":
        raise ValueError("Complex data not supported: y has complex numbers")
    if y.ndim == 2 and y.shape[1] == 1:
        warn_of_conversion("A column-vector y was passed when a 1d array was expected: please use y.ravel()")
        y = y[:, 0]
    if y.ndim != 1 or len(y) != rows:
        raise ValueError(f"y must have one label for each of {rows} rows, and has shape {y.shape}")
    return y


def name_of(y, default: str = "y") -> str:
    """What labels are called: the name of a Series, or "y"."""
    name = getattr(y, "name", None) if getattr(y, "ndim", 1) == 1 else None
    return default if name is None else str(name)


def groups(values, rows: int, what: str) -> np.ndarray:
    """The code of each row's group, or fold."""
    values = array_of(values)
    if values.shape != (rows,):
        raise ValueError(f"{what} must have a value for each of {rows} rows, and has shape {values.shape}")
    places: dict = {}
    codes = [_core.MISSING if is_missing(value) else places.setdefault(level_name(value), len(places)) for value in values.tolist()]
    codes = np.array(codes, dtype=np.uint32)
    if (codes == _core.MISSING).any():
        raise ValueError(f"{what}: row {int(np.argmax(codes == _core.MISSING))} has none")
    return codes


def of_names(names: list[str], known: dict | None = None) -> dict:
    """The labels of classes by name; those that nobody knows are integers if all are, or texts."""
    is_integer = all(name.lstrip("-").isdigit() and name == str(int(name)) for name in names)
    found = {name: int(name) if is_integer else name for name in names}
    return {name: (known or {}).get(name, label) for name, label in found.items()}


def check_among(y, classes) -> None:
    """Refuses labels that were not announced."""
    known = set(array_of(classes).tolist())
    strange = [label for label in array_of(y).ravel().tolist() if label not in known and not is_missing(label)]
    if strange:
        raise ValueError(f"y has the label {strange[0]!r}, which is not among classes={sorted(known, key=str)}")


def codes_among(y, classes: np.ndarray, rows: int) -> np.ndarray:
    """Codes of labels that are all known."""
    places = {label: code for code, label in enumerate(classes.tolist())}
    y = column_of(y, rows).tolist()
    strange = next(((row, label) for row, label in enumerate(y) if label not in places), None)
    if strange is not None:
        raise ValueError(f"y: row {strange[0]} has the label {strange[1]!r}, and the model knows {classes.tolist()[:20]}")
    return np.fromiter((places[label] for label in y), dtype=np.uint32, count=rows)


def codes_if_any(y, classes: np.ndarray, rows: int) -> np.ndarray:
    """Codes of labels, of which some may be missing."""
    places = {label: code for code, label in enumerate(classes.tolist())}
    y = column_of(y, rows).tolist()
    strange = next(((row, label) for row, label in enumerate(y) if label not in places and not is_missing(label)), None)
    if strange is not None:
        raise ValueError(f"y: row {strange[0]} has the label {strange[1]!r}, and the model knows {classes.tolist()[:20]}")
    return np.fromiter((places.get(label, _core.MISSING) for label in y), dtype=np.uint32, count=rows)


def labels(y, rows: int) -> tuple[np.ndarray, dict]:
    """Codes of labels, and the labels by their names in ascending order; None and NaN are rows without one."""
    y = column_of(y, rows)
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
    if y.dtype.kind == "f":
        check_discrete(classes, rows)
    names = {level_name(label): label for label in classes}
    if len(names) < len(classes):
        raise ValueError("two labels have the same text: give each class a name of its own")
    found = np.full(len(places) + 1, _core.MISSING, dtype=np.uint32)
    found[[places[label] for label in classes]] = np.arange(len(classes))
    return found[codes], names


def check_all(codes: np.ndarray) -> None:
    """Refuses a row without a label, as the program does."""
    if (codes == _core.MISSING).any():
        row = int(np.argmax(codes == _core.MISSING))
        raise ValueError(
            f"y: row {row} has no label: fill it in or leave the row out. Generative models learn from rows without a "
            "label with unlabelled_weight=1"
        )


def check_discrete(classes: list[float], rows: int) -> None:
    """Refuses numbers that are no labels: nearly all of them different, and not whole."""
    if any(np.isinf(label) for label in classes):
        raise ValueError("y contains infinity: it is not a label")
    if rows > 10 and 2 * len(classes) > rows and any(label != int(label) for label in classes):
        raise ValueError(
            f"Unknown label type: continuous. y has {len(classes)} different numbers in {rows} rows: a classifier needs "
            "labels of classes; cut the numbers into ranges, or use a regression"
        )


def weights(sample_weight, rows: int) -> np.ndarray | None:
    """A weight of each row."""
    if sample_weight is None:
        return None
    found = np.ascontiguousarray(as_array(array_of(sample_weight)), dtype=np.float64)
    if found.ndim == 0:
        found = np.full(rows, float(found))
    if found.shape != (rows,):
        raise ValueError(f"sample_weight must have a weight for each of {rows} rows, and has shape {found.shape}")
    if rows and not found.any():
        raise ValueError("all weights are zero: sample_weight must have some above zero")
    return found
