from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

def posterior(evidence: ArrayLike, prior: ArrayLike) -> NDArray[np.float64]: ...
def decide(
    evidence: ArrayLike, prior: ArrayLike, costs: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.float64]]: ...
def threshold(prior: float, cost_miss: float = 1.0, cost_false_alarm: float = 1.0) -> float: ...
def cost_matrix(
    labels: Sequence[Any], costs: Any = None, reject: float | None = None
) -> tuple[list[list[float]], list[Any]]: ...
