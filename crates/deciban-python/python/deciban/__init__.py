"""deciban: probabilistic classification that one can base decisions on.

`Classifier` learns from labelled rows and scores new ones into evidence; prior and costs are plugged in when it is
used. `deciban.sklearn` has scikit-learn's classes under their own names; `deciban.decide`, `deciban.evaluate` and
`deciban.transform` work on arrays.
"""

from . import decide, evaluate, transform
from ._classifier import Classifier, NotFittedError
from ._core import __version__

__all__ = ["Classifier", "NotFittedError", "__version__", "decide", "evaluate", "transform"]
