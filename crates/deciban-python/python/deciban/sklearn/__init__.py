"""scikit-learn's generative and linear classifiers, under their own names, fitted and scored by deciban.

Changing the import line is enough: ``from deciban.sklearn import GaussianNB``.
"""

try:
    import sklearn as _peer  # noqa: F401
except ImportError:
    raise ImportError("deciban.sklearn derives from scikit-learn's classes: pip install scikit-learn") from None

from ._categorical import CategoricalNB
from ._checks import expected_failed_checks
from ._discrete import BernoulliNB, ComplementNB, MultinomialNB
from ._discriminant import LinearDiscriminantAnalysis
from ._gaussian import GaussianNB
from ._logistic import LogisticRegression
from ._quadratic import QuadraticDiscriminantAnalysis

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
