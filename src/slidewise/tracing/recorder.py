"""Recorder: an aggregation whose calls of combine and inverse are written down."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from slidewise.aggregations.base import Aggregation


@dataclass(frozen=True)
class Call:
    """A call of combine, or of inverse, with its operands and what it gave."""

    function: str
    older: Any
    newer: Any
    result: Any
    #: made by the second thread of pba
    aside: bool = False


class Recorder:
    """The aggregation to run, and the calls since they were last taken."""

    def __init__(self, aggregation: Aggregation) -> None:
        self._calls: list[Call] = []
        self._main = threading.get_ident()
        self.aggregation = aggregation.variant(
            combine=self._recorded("combine", aggregation.combine),
            inverse=self._recorded("inverse", aggregation.inverse) if aggregation.invertible else aggregation.inverse,
        )

    def _recorded(self, name: str, function: Any) -> Any:
        def call(a: Any, b: Any) -> Any:
            result = function(a, b)
            self._calls.append(Call(name, a, b, result, threading.get_ident() != self._main))
            return result

        return call

    def take(self) -> tuple[Call, ...]:
        """Take the calls made since the last time."""
        calls, self._calls[:] = tuple(self._calls), []
        return calls
