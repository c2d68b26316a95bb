"""The declared properties of an aggregation, tested as laws on samples.

A law is tried on partials of single rows and of several, in every order, since a wrong declaration often
holds for the simplest ones. Floats are compared with a tolerance, and NaN equals itself.
"""

from __future__ import annotations

import copy
import itertools
import math
import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.extremes import larger, smaller
from slidewise.aggregations.values import TOLERANCE, are_close
from slidewise.errors import InvalidInput, LawBroken

#: difference up to which two floats count as equal, beside the largest float of a partial: a sum of cubes that cancels
#: to zero carries its terms' rounding
TOLERANCE_BESIDE = 1e-12
#: partials that pairs and triples are made of; triples grow with its cube
MOST_PARTIALS = 12


@dataclass(frozen=True, repr=False)
class LawReport:
    """Which laws hold, on how many cases each, and what else seems true.

    >>> import slidewise as sw
    >>> report = sw.check_aggregation(sw.max(), [3.0, 1.0, 2.0])
    >>> sorted(report.held), report.hints
    (['associativity', 'commutativity', 'lower', 'purity', 'selectivity', 'size preserving'], ())
    """

    aggregation: str
    #: law -> number of cases tried
    held: dict[str, int]
    hints: tuple[str, ...] = ()

    def __repr__(self) -> str:  # what a console shows
        width = max(map(len, self.held))
        lines = [f"{self.aggregation}: all {len(self.held)} laws hold"]
        lines += [f"  {law:<{width}}  {cases} case{'s' * (cases != 1)}" for law, cases in self.held.items()]
        lines += [f"  hint: {hint}" for hint in self.hints]
        return "\n".join(lines)


@dataclass(frozen=True)
class _Broken:
    """One case in which a law does not hold."""

    law: str
    operands: tuple[Any, ...]
    left: Any
    right: Any


def check_aggregation(aggregation: Aggregation | type[Aggregation], samples: Iterable[Any]) -> LawReport:
    """Test what an aggregation declares of itself; LawBroken says which law fails on which values.

    Samples are rows: values, or tuples where lift takes several.

    >>> import slidewise as sw
    >>> class Latest(sw.Aggregation):
    ...     commutative = True
    ...     @staticmethod
    ...     def lift(x):       return (x,)
    ...     @staticmethod
    ...     def combine(a, b): return b
    ...     @staticmethod
    ...     def lower(s):      return s[0]
    >>> try:
    ...     sw.check_aggregation(Latest, [1, 2, 3])
    ... except sw.LawBroken as error:
    ...     print(error)
    Latest is declared commutative, but combine(a, b) == combine(b, a) fails for
      a = (1,)
      b = (2,)
      left:  (2,)
      right: (1,)
    Remove `commutative`, or correct combine.
    >>> Latest.commutative = False
    >>> print(sw.check_aggregation(Latest, [1, 2, 3]))
    Latest: all 4 laws hold
      purity           49 cases
      associativity    343 cases
      size preserving  49 cases
      lower            7 cases
      hint: selective seems to hold too: declare it if it always does
    """
    if isinstance(aggregation, type) and issubclass(aggregation, Aggregation):
        aggregation = aggregation()
    if not isinstance(aggregation, Aggregation):
        raise InvalidInput(f"check_aggregation takes an aggregation such as slidewise.max(), got {aggregation!r}")
    if not isinstance(samples, Iterable):
        raise InvalidInput(f"check_aggregation takes rows to test with, such as [1, 2, 3], got {samples!r}")
    rows = [row if aggregation.arity > 1 else (row,) for row in samples]
    rows = [row for row in rows if not _skips(aggregation, row)]
    if not rows:
        raise InvalidInput("check_aggregation: no samples to test with; give some rows whose values are not null")
    return _Laws(aggregation, rows).check()


class _Laws:
    def __init__(self, aggregation: Aggregation, rows: list[tuple[Any, ...]]) -> None:
        self.aggregation = aggregation
        self.combine = aggregation.combine
        self.lifted = [aggregation.lift(*row) for row in rows]
        # Half single rows, half combinations: neighbours, and everything so far
        singles = self.lifted[: MOST_PARTIALS // 2]
        sums = list(itertools.accumulate(self.lifted, self.combine))[1:]
        pairs = [self.combine(a, b) for a, b in itertools.pairwise(self.lifted)]
        combined = [p for both in itertools.zip_longest(sums[::-1], pairs) for p in both if p is not None]
        self.partials = (singles + combined)[:MOST_PARTIALS]
        self.sums = sums

    def check(self) -> LawReport:
        held: dict[str, int] = {}
        laws: list[tuple[str, str, Callable[[], Iterator[_Broken | None]], str]] = [
            (
                "purity",
                "",
                self.purity,
                "combine must return a new partial and leave its operands as they are.",
            ),
            ("associativity", "associative", self.associativity, "Remove `associative`, or correct combine."),
            ("identity", "identity", self.identity, "Correct `identity`, or set it to None."),
            ("commutativity", "commutative", self.commutativity, "Remove `commutative`, or correct combine."),
            ("inverse", "invertible", self.inverse, "Remove the declaration, or correct inverse."),
            ("selectivity", "selective", self.selectivity, "Remove `selective`, or correct combine."),
            ("parts", "in_parts", self.parts, "Remove `partial_parts`, or correct it or combine."),
            ("size preserving", "size_preserving", self.size, "Set `size_preserving = False`."),
            ("lower", "", self.lower, "Correct lower, or say in `defined` which partials have no result."),
        ]
        hints = []
        for law, declaration, cases, remedy in laws:
            value = getattr(self.aggregation, declaration) if declaration else True
            declared = value is not None if declaration == "identity" else bool(value)  # an identity may be 0
            if declared:
                held[law] = self._require(declaration, cases, remedy)
            elif declaration in ("commutative", "selective", "associative") and self._seems_to_hold(cases):
                hints.append(f"{declaration} seems to hold too: declare it if it always does")
        return LawReport(self.aggregation.name, held, tuple(hints))

    def _require(self, declaration: str, cases: Callable[[], Iterator[_Broken | None]], remedy: str) -> int:
        tried = 0
        for broken in cases():
            tried += 1
            if broken:
                adjective = {"invertible": "invertible", "identity": "to have an identity"}.get(
                    declaration, declaration.replace("_", "-")
                )
                start = (
                    f"{self.aggregation.name} is declared {adjective}, but" if declaration else self.aggregation.name
                )
                operands = "".join(f"\n  {n} = {v!r}" for n, v in zip("abc", broken.operands, strict=False))
                raise LawBroken(
                    f"{start}{'' if declaration else ':'} {broken.law} fails for{operands}"
                    f"\n  left:  {broken.left!r}\n  right: {broken.right!r}\n{remedy}"
                )
        return tried

    def _seems_to_hold(self, cases: Callable[[], Iterator[_Broken | None]]) -> bool:
        try:
            return len(self.lifted) > 2 and not any(cases())
        except Exception:  # a law that was never promised may fail in any way
            return False

    # Each law yields, case by case, None or what broke it.

    def purity(self) -> Iterator[_Broken | None]:
        for a, b in itertools.product(self.partials, repeat=2):
            before = self._plain(a), self._plain(b)
            self.combine(a, b)
            after = self._plain(a), self._plain(b)
            for then, now in zip(before, after, strict=True):
                if not _equal(then, now):
                    yield _Broken("combine(a, b) leaves a and b unchanged", before, then, now)
            yield None

    def associativity(self) -> Iterator[_Broken | None]:
        for a, b, c in itertools.product(self.partials, repeat=3):
            left = self.combine(self.combine(a, b), c)
            right = self.combine(a, self.combine(b, c))
            law = "combine(combine(a, b), c) == combine(a, combine(b, c))"
            yield None if self.same(left, right, self._slack(a, b, c)) else _Broken(law, (a, b, c), left, right)

    def identity(self) -> Iterator[_Broken | None]:
        neutral = self.aggregation.identity
        for a in self.partials:
            for law, result in (
                ("combine(identity, a) == a", self.combine(neutral, a)),
                ("combine(a, identity) == a", self.combine(a, neutral)),
            ):
                yield None if self.same(result, a) else _Broken(law, (a,), result, a)

    def commutativity(self) -> Iterator[_Broken | None]:
        for a, b in itertools.combinations(self.partials, 2):
            left, right = self.combine(a, b), self.combine(b, a)
            law = "combine(a, b) == combine(b, a)"
            yield None if self.same(left, right, self._slack(a, b)) else _Broken(law, (a, b), left, right)

    def inverse(self) -> Iterator[_Broken | None]:
        exact = self.aggregation.exactly_invertible
        for a, b in itertools.product(self.partials, repeat=2):
            if exact is not True and not (_finite(self._plain(a)) and _finite(self._plain(b))):
                continue  # an infinity cannot be subtracted again; only an exact inverse promises that
            total = self.combine(a, b)
            left = self.aggregation.inverse(total, a)
            # What is left of a much larger total has lost as many digits
            slack = 0.0 if exact is True else TOLERANCE * _magnitude(self._plain(total))
            law = "inverse(combine(a, b), a) == b"
            if (
                exact is True
                and not self.same(left, b)
                and self.same(left, b, TOLERANCE * _magnitude(self._plain(total)))
            ):
                law += " without rounding, as exactly_invertible says,"
            yield None if self.same(left, b, slack) else _Broken(law, (a, b), left, b)

    def selectivity(self) -> Iterator[_Broken | None]:
        for a, b in itertools.product(self.partials, repeat=2):
            result = self.combine(a, b)
            law = "combine(a, b) is a or b"
            yield (None if self.same(result, a) or self.same(result, b) else _Broken(law, (a, b), result, (a, b)))

    def parts(self) -> Iterator[_Broken | None]:
        words = self.aggregation.partial_parts
        of = {"sum": operator.add, "min": smaller, "max": larger}
        for a, b in itertools.product(self.partials, repeat=2):
            left, right = self.combine(a, b), tuple(of[w](x, y) for w, x, y in zip(words, a, b, strict=True))
            law = f"combine(a, b) is {', '.join(words)} of the fields of a and b"
            yield None if self.same(left, right, self._slack(a, b)) else _Broken(law, (a, b), left, right)

    def size(self) -> Iterator[_Broken | None]:
        limit = self.aggregation.size_limit or max(_size(self._plain(p)) for p in self.lifted)
        for a, b in itertools.product(self.partials, repeat=2):
            size = _size(self._plain(self.combine(a, b)))
            law = f"combine(a, b) holds at most {limit} values"
            yield None if size <= limit else _Broken(law, (a, b), size, limit)

    def lower(self) -> Iterator[_Broken | None]:
        for a in self.partials:
            try:
                if self.aggregation.defined(a):
                    self.aggregation.lower(a)
            except OverflowError:
                pass  # a refused total is a result too
            except Exception as error:
                yield _Broken("lower(a) gives a result", (a,), error, "a result")
            yield None

    def _slack(self, *operands: Any) -> float:
        """Measure the rounding that a result carries which cancels to zero: that of its operands."""
        return TOLERANCE_BESIDE * max(_magnitude(self._plain(operand)) for operand in operands)

    def _plain(self, partial: Any) -> Any:
        return copy.deepcopy(self.aggregation.dump(partial))

    def same(self, p: Any, q: Any, slack: float = 0.0) -> bool:
        """Equal partials; where partials cannot be compared (sketches), equal results."""
        a, b = self._plain(p), self._plain(q)
        if _equal(a, b, max(slack, TOLERANCE_BESIDE * _magnitude(a))):
            return True
        return _opaque(a) and _opaque(b) and _equal(self.aggregation.lower(p), self.aggregation.lower(q))


def _skips(aggregation: Aggregation, row: tuple[Any, ...]) -> bool:
    if aggregation.nulls == "keep":
        return False
    positions = range(len(row)) if aggregation.nulls == "skip" else aggregation.nulls
    return any(row[i] is None for i in positions)


def _equal(a: Any, b: Any, slack: float = 0.0) -> bool:
    """Tell whether two plain partials, or results, are equal, floats but for rounding.

    Unlike `agree` it allows no difference near zero but `slack`, takes a tuple and a list as the same, as dump() may
    give either, and objects without an equality as different: a law must not hold by chance.
    """
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(_equal(x, y, slack) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return len(a) == len(b) and all(k in b and _equal(v, b[k], slack) for k, v in a.items())
    if a is b or (a != a and b != b):
        return True
    if isinstance(a, float) or isinstance(b, float):
        try:
            return are_close(a, b, slack)
        except TypeError:
            return False
    return bool(a == b)


def _opaque(plain: Any) -> bool:
    """Tell whether a partial holds what equality says nothing about: bytes of a sketch, objects without __eq__."""
    if isinstance(plain, tuple | list):
        return any(map(_opaque, plain))
    return isinstance(plain, bytes) or not any("__eq__" in vars(c) for c in type(plain).__mro__[:-1])


def _leaves(plain: Any) -> Iterator[Any]:
    if isinstance(plain, dict):
        plain = [*plain.keys(), *plain.values()]
    if isinstance(plain, tuple | list | set | frozenset):
        for part in plain:
            yield from _leaves(part)
    else:
        yield plain


def _finite(plain: Any) -> bool:
    return all(math.isfinite(x) for x in _leaves(plain) if isinstance(x, float))


def _magnitude(plain: Any) -> float:
    return max((abs(x) for x in _leaves(plain) if isinstance(x, float) and math.isfinite(x)), default=0.0)


def _size(plain: Any) -> int:
    """Tell how much a partial holds: text and bytes count by their length, everything else by one."""
    return sum(len(x) if isinstance(x, str | bytes) else 1 for x in _leaves(plain))
