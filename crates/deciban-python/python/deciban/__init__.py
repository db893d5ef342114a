"""deciban: probabilistic classification that one can base decisions on.

`Classifier` learns from labelled rows and reports the evidence of new ones; prior and costs are plugged in when it is
used. `deciban.sklearn` has scikit-learn's classes under their own names; `deciban.decide`, `deciban.evaluate` and
`deciban.transform` work on arrays, and `deciban.plot` draws.
"""

import importlib

from ._core import __version__

#: Modules that are loaded when they are first used, and NumPy with them: it takes far longer to load than the rest.
_MODULES = ("decide", "evaluate", "plot", "sklearn", "transform")

__all__ = ["Classifier", "NotFittedError", "__version__", *_MODULES]


def __getattr__(name):
    if name in ("Classifier", "NotFittedError"):
        value = getattr(importlib.import_module("._classifier", __name__), name)
    elif name in _MODULES:
        value = importlib.import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(__all__))
