from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._ledger import AdaptedPrior, Description, Evaluation, Ledger, Report, NextMeasurement
from ._statistics import Statistics

_Self = TypeVar("_Self", bound="Classifier")
_Floats = NDArray[np.float64]
_Names = str | int | Sequence[str] | Sequence[int] | ArrayLike | None
_Prior = Literal["empirical", "uniform"] | ArrayLike | Mapping[Any, float]
_ModelName = Literal[
    "auto",
    "fused",
    "gaussian",
    "naive-bayes",
    "bernoulli",
    "multinomial",
    "table",
    "tree",
    "a1de",
    "parzen",
    "logistic",
    "probit",
    "cloglog",
    "additive",
    "k-dependence",
    "noisy-or",
    "least-squares",
]
_Costs = str | ArrayLike | Mapping[tuple[Any, Any], float]

__all__ = ["Classifier", "NotFittedError"]

class NotFittedError(ValueError, AttributeError): ...
class RemarkWarning(UserWarning): ...
class UndefinedWarning(RuntimeWarning): ...

class Classifier:
    model: _ModelName
    prior: _Prior
    calibrate: str | None
    n_jobs: int | None
    progress: bool | None
    number: _Names
    category: _Names
    flag: _Names
    count: _Names
    text: _Names
    ignore: _Names
    missing: Any
    covariance: str | None
    estimator: str | None
    shrinkage: float | Literal["auto"] | None
    pooling: float | Literal["auto"] | None
    sparse_precision: float | None
    standardise: bool
    deskew: bool
    gaussianise: bool
    pca: int | None
    lda: int | None
    prior_rows: float | None
    rank: int | str | None
    components: int | str | None
    unlabelled_weight: float | None
    iterations: int | None
    effort: str | None
    models: str | list[str] | None
    no_companion: bool
    folds: int | None
    seed: int | None
    equal_together: bool
    pseudo_count: float | None
    refuse_unseen: bool
    joint_numbers: bool
    family: str | Mapping[str, str] | None
    bins: Mapping[str, Sequence[float]] | None
    min_count: float | None
    vocabulary: int | None
    complement: bool
    weight_decay: float | None
    solver: str | None
    rate: float | None
    no_standardise: bool
    pairs: int | None
    pair_decay: float | None
    parents: int | None
    effect: Any
    ngrams: str | int | tuple[int, int] | None
    characters: bool
    case: bool
    no_symbols: bool
    stop_words: Sequence[str] | None
    min_length: int | None
    hashed_bits: int | None
    most_words: int | None
    classes_: NDArray[Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    compared_: list[tuple[str, float]]
    remarks_: list[str]
    receipt_: dict[str, Any]

    def __init__(
        self,
        model: _ModelName = "auto",
        *,
        prior: _Prior = "empirical",
        calibrate: str | None = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        number: _Names = None,
        category: _Names = None,
        flag: _Names = None,
        count: _Names = None,
        text: _Names = None,
        ignore: _Names = None,
        missing: Any = None,
        covariance: str | None = None,
        estimator: str | None = None,
        shrinkage: float | Literal["auto"] | None = None,
        pooling: float | Literal["auto"] | None = None,
        sparse_precision: float | None = None,
        standardise: bool = False,
        deskew: bool = False,
        gaussianise: bool = False,
        pca: int | None = None,
        lda: int | None = None,
        prior_rows: float | None = None,
        rank: int | str | None = None,
        components: int | str | None = None,
        unlabelled_weight: float | None = None,
        iterations: int | None = None,
        effort: str | None = None,
        models: str | list[str] | None = None,
        no_companion: bool = False,
        folds: int | None = None,
        seed: int | None = None,
        equal_together: bool = False,
        pseudo_count: float | None = None,
        refuse_unseen: bool = False,
        joint_numbers: bool = False,
        family: str | Mapping[str, str] | None = None,
        bins: Mapping[str, Sequence[float]] | None = None,
        min_count: float | None = None,
        vocabulary: int | None = None,
        complement: bool = False,
        weight_decay: float | None = None,
        solver: str | None = None,
        rate: float | None = None,
        no_standardise: bool = False,
        pairs: int | None = None,
        pair_decay: float | None = None,
        parents: int | None = None,
        effect: Any = None,
        ngrams: str | int | tuple[int, int] | None = None,
        characters: bool = False,
        case: bool = False,
        no_symbols: bool = False,
        stop_words: Sequence[str] | None = None,
        min_length: int | None = None,
        hashed_bits: int | None = None,
        most_words: int | None = None,
    ) -> None: ...
    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def set_params(self: _Self, **params: Any) -> _Self: ...
    def fit(
        self: _Self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | str | None = None,
    ) -> _Self: ...
    def partial_fit(
        self: _Self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> _Self: ...
    def merge(self: _Self, other: Classifier) -> _Self: ...
    def update(self: _Self, X: Any, y: Any, sample_weight: ArrayLike | None = None, rows: tuple[Any, ...] | None = None) -> _Self: ...
    def forget(self: _Self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, rows: tuple[Any, ...] | None = None) -> _Self: ...
    def collect(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Statistics: ...
    def fit_statistics(self: _Self, statistics: Statistics) -> _Self: ...
    def statistics(self) -> Statistics: ...
    def evidence(self, X: Any) -> _Floats: ...
    def predict_log_proba(self, X: Any, prior: _Prior | None = None) -> _Floats: ...
    def predict_proba(self, X: Any, prior: _Prior | None = None) -> _Floats: ...
    def predict(self, X: Any, prior: _Prior | None = None) -> NDArray[Any]: ...
    def decide(
        self,
        X: Any,
        prior: _Prior | None = None,
        costs: _Costs | None = None,
        reject: float | None = None,
        none_of_these: float | None = None,
    ) -> NDArray[Any]: ...
    def score(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, prior: _Prior | None = None
    ) -> float: ...
    def log_density(self, X: Any, prior: _Prior | None = None) -> _Floats: ...
    def how_usual(self, X: Any, prior: _Prior | None = None) -> _Floats: ...
    def conformal_p_values(self, X: Any, by: str = "evidence") -> _Floats: ...
    def adapt_prior(
        self, X: Any, labelled: tuple[Any, Any] | None = None, confidence: float = 0.95
    ) -> AdaptedPrior: ...
    def explain(
        self, X: Any, prior: _Prior | None = None, between: Any = None, order: str = "average"
    ) -> list[Ledger]: ...
    def impute(
        self, X: Any, y: Any = None, how: str = "mean", seed: int = 0, prior: _Prior | None = None
    ) -> Any: ...
    def next_measurement(
        self,
        X: Any,
        prior: _Prior | None = None,
        costs: _Costs | None = None,
        reject: float | None = None,
        measure_costs: Mapping[str, float] | None = None,
        seed: int = 0,
    ) -> list[NextMeasurement]: ...
    def describe(self) -> Description: ...
    def evaluate(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        prior: _Prior | None = None,
        costs: _Costs | None = None,
        reject: float | None = None,
        positive: Any = None,
        intervals: bool = False,
        resamples: int = 1000,
        confidence: float = 0.95,
        seed: int = 0,
        none_of_these: float | None = None,
    ) -> Evaluation: ...
    def report(
        self,
        X: Any,
        y: Any,
        path: str | PathLike[str] | None = None,
        sample_weight: ArrayLike | None = None,
        prior: _Prior | None = None,
        costs: _Costs | None = None,
        reject: float | None = None,
        title: str | None = None,
    ) -> Report: ...
    def sample(
        self, n: int, seed: int = 0, prior: _Prior | None = None
    ) -> tuple[dict[str, NDArray[Any]], NDArray[Any]]: ...
    def save(self, path: str | PathLike[str], keep_statistics: bool = False) -> None: ...
    @classmethod
    def load(cls: type[_Self], path: str | PathLike[str]) -> _Self: ...
    def __sklearn_is_fitted__(self) -> bool: ...
    def __sklearn_tags__(self) -> Any: ...
