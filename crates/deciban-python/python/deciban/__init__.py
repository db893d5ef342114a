"""deciban: probabilistic classification that one can base decisions on.

`Classifier` learns from labelled rows and reports the evidence of new ones; prior and costs are plugged in when it is
used. `compare` finds the best of many models, and `Statistics` are what rows leave behind, to be saved and merged.
`deciban.sklearn` has scikit-learn's classes under their own names; `deciban.decide`, `deciban.evaluate` and
`deciban.transform` work on arrays, and `deciban.plot` draws.
"""

import importlib

from ._core import __version__

#: Modules that are loaded when they are first used, and NumPy with them: it takes far longer to load than the rest.
_MODULES = ("decide", "evaluate", "plot", "sklearn", "transform")

#: Where the names of the package are.
_NAMES = {
    "Classifier": "_classifier",
    "NotFittedError": "_classifier",
    "Comparison": "_comparison",
    "compare": "_comparison",
    "Statistics": "_statistics",
}

__all__ = [*_NAMES, "__version__", *_MODULES]


def __getattr__(name):
    if name in _NAMES:
        value = getattr(importlib.import_module(f".{_NAMES[name]}", __name__), name)
    elif name in _MODULES:
        value = importlib.import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(__all__))
