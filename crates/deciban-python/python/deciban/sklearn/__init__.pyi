from collections.abc import Mapping
from typing import Any, TypeVar

from numpy.typing import ArrayLike, NDArray
from sklearn import discriminant_analysis as _discriminant_analysis
from sklearn import linear_model as _linear_model
from sklearn import naive_bayes as _naive_bayes

_Self = TypeVar("_Self", bound="_Predictions")
_Prior = ArrayLike | Mapping[Any, float]

__all__ = [
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "GaussianNB",
    "LinearDiscriminantAnalysis",
    "LogisticRegression",
    "MultinomialNB",
    "QuadraticDiscriminantAnalysis",
    "expected_failed_checks",
]

def expected_failed_checks(estimator: object) -> dict[str, str]: ...

# Parameters and fitted attributes are those of scikit-learn's classes.

class _Predictions:
    def predict_joint_log_proba(self, X: Any, prior: _Prior | None = None) -> NDArray[Any]: ...
    def predict_log_proba(self, X: Any, prior: _Prior | None = None) -> NDArray[Any]: ...
    def predict_proba(self, X: Any, prior: _Prior | None = None) -> NDArray[Any]: ...
    def predict(self, X: Any, prior: _Prior | None = None) -> NDArray[Any]: ...

class BernoulliNB(_Predictions, _naive_bayes.BernoulliNB):
    def fit(self: _Self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> _Self: ...
    def partial_fit(
        self: _Self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> _Self: ...

class CategoricalNB(_Predictions, _naive_bayes.CategoricalNB):
    def fit(self: _Self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> _Self: ...
    def partial_fit(
        self: _Self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> _Self: ...

class ComplementNB(_Predictions, _naive_bayes.ComplementNB):
    def fit(self: _Self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> _Self: ...
    def partial_fit(
        self: _Self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> _Self: ...

class GaussianNB(_Predictions, _naive_bayes.GaussianNB):
    def fit(self: _Self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> _Self: ...
    def partial_fit(
        self: _Self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> _Self: ...

class LinearDiscriminantAnalysis(_Predictions, _discriminant_analysis.LinearDiscriminantAnalysis):
    def decision_function(self, X: Any) -> NDArray[Any]: ...
    def transform(self, X: Any) -> NDArray[Any]: ...
    def fit(self: _Self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> _Self: ...
    def partial_fit(
        self: _Self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> _Self: ...

class LogisticRegression(_Predictions, _linear_model.LogisticRegression):
    def decision_function(self, X: Any) -> NDArray[Any]: ...
    def fit(self: _Self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> _Self: ...

class MultinomialNB(_Predictions, _naive_bayes.MultinomialNB):
    def fit(self: _Self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> _Self: ...
    def partial_fit(
        self: _Self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> _Self: ...

class QuadraticDiscriminantAnalysis(_Predictions, _discriminant_analysis.QuadraticDiscriminantAnalysis):
    def decision_function(self, X: Any) -> NDArray[Any]: ...
    def fit(self: _Self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> _Self: ...
    def partial_fit(
        self: _Self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> _Self: ...
