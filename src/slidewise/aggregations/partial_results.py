"""The partial of an aggregation as its result: for what is kept of some rows, or lowered afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slidewise.aggregations.base import Aggregation

if TYPE_CHECKING:
    import numpy as np


class PartialResult(Aggregation):
    """The partials of an aggregation, as `op`, one of its compiled forms, makes them."""

    def __init__(self, of: Aggregation, op: Aggregation, fields: tuple[str, ...] = ()) -> None:
        self.identity_for = of.identity_for  # type: ignore[method-assign]
        self.identity, self.lift, self.combine = op.identity, op.lift, op.combine
        self.accepts, self.where, self.result_fields = of.accepts, of.where, fields
        self.commutative = of.commutative
        super().__init__(*of.columns, of=of)

    def compiled(self, columns: tuple[np.ndarray, ...], longest: int) -> Aggregation | None:
        """Return this as it is: how partials look does not depend on the rows of a call."""
        return self
