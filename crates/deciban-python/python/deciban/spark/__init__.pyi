from typing import Any

from .._classifier import Classifier as _Classifier
from .._comparison import Comparison
from .._ledger import Evaluation

__all__ = ["Classifier", "ClassifierModel", "compare"]

def compare(
    dataset: Any,
    labelCol: str = "label",
    *,
    models: Any = None,
    folds: int | str = "auto",
    effort: str = "normal",
    by: str = "log-loss",
    seed: int = 0,
    equal_together: bool = False,
    weightCol: str | None = None,
    prior: Any = None,
    costs: Any = None,
    reject: float | None = None,
    top: int = 20,
    source: str = "auto",
    **reading: Any,
) -> Comparison: ...

class Classifier:
    def __init__(
        self,
        model: str = "auto",
        *,
        labelCol: str = "label",
        weightCol: str | None = None,
        predictionCol: str | None = "prediction",
        probabilityCol: str | None = "probability",
        evidenceCol: str | None = None,
        source: str = "auto",
        **options: Any,
    ) -> None: ...

class ClassifierModel:
    classifier: _Classifier
    def __init__(self, classifier: _Classifier | None = None) -> None: ...
    @property
    def classes(self) -> list[Any]: ...
    def evaluate(self, dataset: Any, memory: int = 134217728, **options: Any) -> Evaluation: ...
    def write(self) -> Any: ...
    @classmethod
    def read(cls) -> Any: ...
