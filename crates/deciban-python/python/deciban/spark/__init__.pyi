from typing import Any

from .._classifier import Classifier as _Classifier
from .._ledger import Evaluation

__all__ = ["Classifier", "ClassifierModel"]

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
    def evaluate(self, dataset: Any, **options: Any) -> Evaluation: ...
    def write(self) -> Any: ...
    @classmethod
    def read(cls) -> Any: ...
