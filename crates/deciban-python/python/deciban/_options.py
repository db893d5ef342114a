"""The keywords of `Classifier` for the core: options of the learner, kinds of columns, how cells and texts are read."""

from __future__ import annotations

import json

import numpy as np

from . import _labels

#: Keywords that say what columns are.
COLUMNS = ("number", "category", "flag", "count", "text", "ignore")

#: Keywords that say how texts become words.
TEXTS = ("ngrams", "characters", "case", "no_symbols", "stop_words", "min_length", "hashed_bits", "most_words")

#: Keywords that are not for the learner.
OTHERS = ("model", "prior", "calibrate", "n_jobs", "progress", "missing", *COLUMNS)


def learner(params: dict, group: str | None = None) -> str:
    """The options of the learner that are given, as a JSON object; `group` is what the groups of the rows are called."""
    given = {name: value for name, value in params.items() if name not in OTHERS and value is not None and value is not False}
    for name in ("shrinkage", "pooling", "components", "rank"):
        if name in given:
            given[name] = str(given[name])
    if isinstance(given.get("family"), str):
        given["family"] = [[None, given["family"]]]  # of all numbers
    for name in ("family", "bins"):
        if hasattr(given.get(name), "items"):
            given[name] = [[str(key), value] for key, value in given[name].items()]
    if isinstance(given.get("models"), str):
        given["models"] = given["models"].split(",")
    if group is not None:
        if given.get("equal_together"):
            raise ValueError("equal_together is for rows without groups: drop it, or groups")
        given["group"] = group
    if "effect" in given:
        given["effect"] = _labels.level_name(given["effect"])
    try:
        return json.dumps(given, default=plain)
    except (TypeError, ValueError) as error:
        raise TypeError(f"options: {error}") from None


def plain(value):
    """Numbers and arrays of NumPy and pandas as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{value!r} is not a value of an option")


def kinds(params: dict) -> dict:
    """What columns are, by name or number."""
    found = {}
    for kind in COLUMNS:
        for name in _labels.listed(params[kind]):
            if found.setdefault(name, kind) != kind:
                raise ValueError(f"column {name!r} is given both as {found[name]} and as {kind}")
    return found


def reading(params: dict) -> dict:
    """How cells and texts are read."""
    told = {name: params[name] for name in (*TEXTS, "missing") if params[name] is not None}
    ngrams = told.get("ngrams", (1, 1))
    if isinstance(ngrams, str):
        ngrams = ngrams.split("..")
    try:
        first, *last = [ngrams] if isinstance(ngrams, int) else ngrams
        told["ngrams"] = int(first), int(last[0] if last else first)
    except (TypeError, ValueError, IndexError):
        raise ValueError(f"ngrams: give a range such as '1..2' or (1, 2), not {params['ngrams']!r}") from None
    for name in ("stop_words", "missing"):
        if name in told:
            told[name] = [_labels.level_name(text) for text in _labels.listed(told[name])]
    return told


def numbers(missing) -> list[float]:
    """The numbers among what stands for a missing cell."""
    found = []
    for text in missing:
        try:
            found.append(float(text))
        except (TypeError, ValueError):
            pass  # a text, which the reader knows
    return [number for number in found if number == number]
