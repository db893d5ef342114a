from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

def cllr(llr: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float: ...
def min_cllr(llr: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float: ...
def auc(llr: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float: ...
def eer(llr: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float: ...
def dcf(
    llr: ArrayLike,
    y: ArrayLike,
    prior: float = 0.5,
    cost_miss: float = 1.0,
    cost_false_alarm: float = 1.0,
    sample_weight: ArrayLike | None = None,
) -> float: ...
def min_dcf(
    llr: ArrayLike,
    y: ArrayLike,
    prior: float = 0.5,
    cost_miss: float = 1.0,
    cost_false_alarm: float = 1.0,
    sample_weight: ArrayLike | None = None,
) -> float: ...
def bayes_error_curve(
    llr: ArrayLike, y: ArrayLike, log_odds: ArrayLike | None = None, sample_weight: ArrayLike | None = None
) -> dict[str, NDArray[np.float64]]: ...
def roc(llr: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> dict[str, NDArray[np.float64]]: ...
def reliability(
    probabilities: ArrayLike, y: ArrayLike, bins: int = 10, sample_weight: ArrayLike | None = None
) -> dict[str, Any]: ...
