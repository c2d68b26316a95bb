"""An aggregation over a window: what `with_columns` computes for one new column."""

from __future__ import annotations

from dataclasses import dataclass

from slidewise.aggregations.base import Aggregation
from slidewise.windows.definitions import WindowDefinition


@dataclass(frozen=True)
class Over:
    """One aggregation, the window it is computed over, and the algorithm to do it with."""

    aggregation: Aggregation
    window: WindowDefinition
    algorithm: str = "auto"

    def __repr__(self) -> str:
        return f"{self.aggregation!r}.over({self.window!r})"
