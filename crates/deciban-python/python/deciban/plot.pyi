from typing import Any

from numpy.typing import ArrayLike

def roc(
    llr: ArrayLike,
    y: ArrayLike,
    ax: Any = None,
    sample_weight: ArrayLike | None = None,
    label: str | None = None,
) -> Any: ...
def bayes_error(
    llr: ArrayLike,
    y: ArrayLike,
    ax: Any = None,
    log_odds: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> Any: ...
def reliability(
    probabilities: ArrayLike,
    y: ArrayLike,
    ax: Any = None,
    bins: int = 10,
    sample_weight: ArrayLike | None = None,
    label: str | None = None,
) -> Any: ...
def llrs(llr: ArrayLike, y: ArrayLike, ax: Any = None, bins: int = 40) -> Any: ...
