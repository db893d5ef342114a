from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from numpy.typing import ArrayLike

from ._classifier import Classifier, _Costs, _Names, _Prior

class Comparison:
    best: str
    lines: list[dict[str, Any]]
    remarks: list[str]
    def __init__(
        self, best: str, lines: list[dict[str, Any]], text: str, remarks: Sequence[str] = (), refit: Any = None
    ) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, name: str) -> dict[str, Any]: ...
    def to_dict(self) -> dict[str, Any]: ...
    def to_frame(self) -> Any: ...
    def params(self, model: str | None = None) -> dict[str, Any]: ...
    def refit(self, model: str | None = None) -> Classifier: ...

def params_of(name: str) -> dict[str, Any]: ...
def compare(
    X: Any,
    y: Any = None,
    *,
    target: str | None = None,
    models: str
    | PathLike[str]
    | Classifier
    | Sequence[str | PathLike[str] | Classifier]
    | Mapping[str, str | PathLike[str] | Classifier]
    | None = None,
    folds: int | str = "auto",
    effort: str = "normal",
    by: str = "log-loss",
    seed: int = 0,
    group: ArrayLike | str | None = None,
    fold: ArrayLike | str | None = None,
    equal_together: bool = False,
    sample_weight: ArrayLike | str | None = None,
    prior: _Prior | None = None,
    costs: _Costs | None = None,
    reject: float | None = None,
    top: int = 20,
    n_jobs: int | None = None,
    progress: bool | None = None,
    number: _Names | None = None,
    category: _Names | None = None,
    flag: _Names | None = None,
    count: _Names | None = None,
    text: _Names | None = None,
    ignore: _Names | None = None,
    missing: Any = None,
    ngrams: str | int | tuple[int, int] | None = None,
    characters: bool = False,
    case: bool = False,
    no_symbols: bool = False,
    stop_words: Sequence[str] | None = None,
    min_length: int | None = None,
    hashed_bits: int | None = None,
    most_words: int | None = None,
) -> Comparison: ...
