from typing import Any

from pyspark.ml.base import Estimator, Model
from pyspark.ml.param import Param, Params
from pyspark.ml.util import (
    DefaultParamsReadable,
    DefaultParamsWritable,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)

from .._classifier import Classifier as _Classifier, _ModelName
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

class _Columns(Params):
    labelCol: Param[str]
    weightCol: Param[str]
    predictionCol: Param[str]
    probabilityCol: Param[str]
    evidenceCol: Param[str]

class Classifier(
    Estimator[ClassifierModel], _Columns, DefaultParamsReadable[Classifier], DefaultParamsWritable
):
    model: Param[str]
    options: Param[str]
    source: Param[str]
    def __init__(
        self,
        model: _ModelName = "auto",
        *,
        labelCol: str = "label",
        weightCol: str | None = None,
        predictionCol: str | None = "prediction",
        probabilityCol: str | None = "probability",
        evidenceCol: str | None = None,
        source: str = "auto",
        **options: Any,
    ) -> None: ...

class ClassifierModel(Model, _Columns, MLReadable[ClassifierModel], MLWritable):
    classifier: _Classifier
    def __init__(self, classifier: _Classifier | None = None) -> None: ...
    @property
    def classes(self) -> list[Any]: ...
    def evaluate(self, dataset: Any, memory: int = 134217728, **options: Any) -> Evaluation: ...
    def write(self) -> MLWriter: ...
    @classmethod
    def read(cls) -> MLReader[ClassifierModel]: ...
