"""Truth values and bits: bool_and, bool_or, bit_and, bit_or, bit_xor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slidewise.aggregations.arguments import OneColumn
from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.values import numeric, zero
from slidewise.errors import InvalidInput

if TYPE_CHECKING:
    import numpy as np


def _truth(x: Any, name: str) -> bool:
    if hasattr(x, "item"):
        x = x.item()
    if not isinstance(x, bool):
        raise InvalidInput(f"{name}: values must be booleans, got {x!r}. Compare the column with something first")
    return x


def _lift_same(x: Any) -> Any:
    return x


class BoolAnd(OneColumn):
    """Whether all values are true.

    >>> import slidewise as sw
    >>> s = sw.swag("daba_lite", sw.bool_and())
    >>> for x in (True, False, True): s.insert(x)
    >>> s.query()
    False
    """

    name = "bool_and"
    merges_as = "itself"
    spark_call = "bool_and({0})"
    accepts = ("boolean",)
    kind = "distributive"
    identity = True
    commutative = True
    selective = True
    keeps_type = True

    @staticmethod
    def lift(x: Any) -> Any:
        return _truth(x, "bool_and")

    @staticmethod
    def combine(a: Any, b: Any) -> Any:
        return a & b

    def compiled(self, columns: tuple[np.ndarray, ...], longest: int) -> Aggregation | None:
        return self.variant(lift=_lift_same) if numeric(columns, "b") else None


class BoolOr(OneColumn):
    """Whether any value is true.

    >>> import slidewise as sw
    >>> s = sw.swag("daba_lite", sw.bool_or())
    >>> for x in (True, False, True): s.insert(x)
    >>> s.query()
    True
    """

    name = "bool_or"
    merges_as = "itself"
    spark_call = "bool_or({0})"
    accepts = ("boolean",)
    kind = "distributive"
    identity = False
    commutative = True
    selective = True
    keeps_type = True

    @staticmethod
    def lift(x: Any) -> Any:
        return _truth(x, "bool_or")

    @staticmethod
    def combine(a: Any, b: Any) -> Any:
        return a | b

    def compiled(self, columns: tuple[np.ndarray, ...], longest: int) -> Aggregation | None:
        return self.variant(lift=_lift_same) if numeric(columns, "b") else None


class _Bits(OneColumn):
    """An aggregation of integers bit by bit."""

    accepts = ("integer",)
    kind = "distributive"
    commutative = True
    keeps_type = True

    def __init__(self, column: str | None = None, *, where: str | None = None) -> None:
        name = self.name
        self.lift = lambda x: _integer(x, name)
        super().__init__(column)

    def compiled(self, columns: tuple[np.ndarray, ...], longest: int) -> Aggregation | None:
        return self.variant(lift=_lift_same) if numeric(columns, "iu") else None

    def identity_for(self, dtype: np.dtype) -> Any:
        return zero(dtype)


def _integer(x: Any, name: str) -> int:
    if hasattr(x, "item"):
        x = x.item()
    if type(x) is bool or not isinstance(x, int):
        raise InvalidInput(f"{name}: values must be integers, got {x!r}")
    return x


class BitOr(_Bits):
    """The bitwise or of integers.

    >>> import slidewise as sw
    >>> s = sw.swag("daba_lite", sw.bit_or())
    >>> for x in (1, 4): s.insert(x)
    >>> s.query()
    5
    """

    name = "bit_or"
    merges_as = "itself"
    spark_call = "bit_or({0})"
    identity = 0

    @staticmethod
    def combine(a: Any, b: Any) -> Any:
        return a | b


class BitAnd(_Bits):
    """The bitwise and of integers.

    >>> import slidewise as sw
    >>> s = sw.swag("daba_lite", sw.bit_and())
    >>> for x in (3, 6): s.insert(x)
    >>> s.query()
    2
    """

    name = "bit_and"
    merges_as = "itself"
    spark_call = "bit_and({0})"
    identity = -1

    @staticmethod
    def combine(a: Any, b: Any) -> Any:
        return a & b

    def identity_for(self, dtype: np.dtype) -> Any:
        return ~zero(dtype)


class BitXor(_Bits):
    """The bitwise exclusive or of integers: the bits that are set in an odd number of them.

    >>> import slidewise as sw
    >>> s = sw.swag("daba_lite", sw.bit_xor())
    >>> for x in (3, 6): s.insert(x)
    >>> s.query()
    5
    """

    name = "bit_xor"
    merges_as = "itself"
    spark_call = "bit_xor({0})"
    identity = 0
    invertible = True
    exactly_invertible = True

    @staticmethod
    def combine(a: Any, b: Any) -> Any:
        return a ^ b

    @staticmethod
    def inverse(total: Any, oldest: Any) -> Any:
        return total ^ oldest
