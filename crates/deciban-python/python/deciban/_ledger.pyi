from dataclasses import dataclass
from os import PathLike
from typing import Any, NamedTuple

class Line(NamedTuple):
    name: str
    value: str
    decibans: float

@dataclass(frozen=True)
class Ledger:
    row: int
    of: Any
    over: Any
    posterior: tuple[float, float]
    prior: float
    features: list[Line]
    missing: list[str]
    total: float
    _text: str
    def to_frame(self) -> Any: ...

@dataclass(frozen=True)
class Evaluation:
    figures: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    details: dict[str, Any]
    _text: str
    def __getitem__(self, name: str) -> float: ...
    def to_frame(self) -> Any: ...

class Worth(NamedTuple):
    column: str
    reduction: float
    standard_error: float
    cost: float
    per_cost: float
    changes: float
    exact: bool

@dataclass(frozen=True)
class NextMeasurement:
    row: int
    decision: Any
    risk: float
    measurements: list[Worth]
    _text: str
    def to_frame(self) -> Any: ...

class AdaptedPrior(dict[Any, float]):
    shares: dict[Any, float]
    intervals: dict[Any, tuple[float, float]]
    training: dict[Any, float]
    def __init__(self, told: dict[str, Any], labels: dict[str, Any], text: str) -> None: ...

class Description(str): ...

class Report(str):
    def save(self, path: str | PathLike[str]) -> None: ...
