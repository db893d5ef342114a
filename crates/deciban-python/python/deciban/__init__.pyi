from . import decide as decide
from . import evaluate as evaluate
from . import transform as transform
from ._classifier import Classifier as Classifier
from ._classifier import NotFittedError as NotFittedError

__all__ = ["Classifier", "NotFittedError", "decide", "evaluate", "transform"]
