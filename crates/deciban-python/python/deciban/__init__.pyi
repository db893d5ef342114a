from . import decide as decide
from . import evaluate as evaluate
from . import plot as plot
from . import sklearn as sklearn
from . import transform as transform
from ._classifier import Classifier as Classifier
from ._classifier import NotFittedError as NotFittedError
from ._comparison import Comparison as Comparison
from ._comparison import compare as compare
from ._statistics import Statistics as Statistics

__version__: str

__all__ = [
    "Classifier",
    "NotFittedError",
    "Comparison",
    "compare",
    "Statistics",
    "__version__",
    "decide",
    "evaluate",
    "plot",
    "sklearn",
    "transform",
]
