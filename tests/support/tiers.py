"""Which cases are quick: `make test` runs those, `make test-all` most of the others, and `make soak` the rest.

A test of the full tier is marked `full`. Of a product of parameters, the marker `covering` leaves few cases in the
quick tier, some more in the full one, and all others to make soak. The number of random examples is that of hypothesis'
profile, `quick` or `full`.

The quick tier runs kernels as plain Python, which spares it most of the time of compiling them, except for the tests
marked `compiled`; the full tier compiles all but most of Spark's.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations
from typing import Any

import pytest
from hypothesis import settings

#: Runs on Connect in the quick tier too; other tests of a `session` do so in the full tier only.
on_both = pytest.mark.parametrize("session", ["spark", "connect"], indirect=True)

#: Runs on Connect by make soak only: what many cases have in common is tested there by others.
connect_in_soak = pytest.mark.parametrize(
    "session", ["spark", pytest.param("connect", marks=pytest.mark.soak)], indirect=True
)


def in_full(*values: Any) -> list[Any]:
    """Mark values of a parameter as those of the full tier."""
    return [pytest.param(value, marks=pytest.mark.full) for value in values]


def in_soak(*values: Any) -> list[Any]:
    """Mark values of a parameter as those of make soak."""
    return [pytest.param(value, marks=pytest.mark.soak) for value in values]


def quick(values: Iterable[Any], *some: Any) -> list[Any]:
    """All values of a parameter, of which but some are quick."""
    values = list(values)
    assert all(value in values for value in some), some
    return [value if value in some else pytest.param(value, marks=pytest.mark.full) for value in values]


def share(number: int) -> int:
    """So many in make soak, half of them in the full tier, and a tenth in the quick one."""
    profile: Any = settings.default
    return max(3, number * profile.max_examples // 100)


def examples(number: int, **options: Any) -> settings:
    """Draw so many examples in make soak, and a share of them in the other tiers."""
    return settings(max_examples=share(number), **options)


def covering(cases: Sequence[Sequence[Hashable]], strength: int) -> set[int]:
    """Choose cases that hold every combination of `strength` values that occurs in any: a covering array, greedily.

    >>> product = [(a, b, c) for a in "xyz" for b in "xyz" for c in "xy"]
    >>> [len(covering(product, strength)) for strength in (0, 1, 2, 3)]
    [1, 3, 10, 18]
    """
    held = [set(combinations(enumerate(case), min(strength, len(case)))) for case in cases]
    missing = set().union(*held)
    chosen: set[int] = set()
    uses: Counter[tuple[int, Hashable]] = Counter()

    def worth(i: int) -> tuple[int, int]:
        """How much a case adds; of equal ones, how seldom its values occur yet."""
        return len(held[i] & missing), -sum(uses[value] for value in enumerate(cases[i]))

    while missing:
        best = max(range(len(cases)), key=worth)
        chosen.add(best)
        uses.update(enumerate(cases[best]))
        missing -= held[best]
    return chosen


def mark_what_a_covering_leaves_out(items: Iterable[pytest.Item]) -> None:
    """Leave the cases of each test marked `covering` that a covering array does not need to the tiers above.

    The quick tier has one of the strength that is asked for, the full tier one of the next, and make soak the rest.
    """
    tests: dict[Any, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("covering") and not _is_in_another_tier(item):
            tests.setdefault((item.parent, item.originalname), []).append(item)  # type: ignore[attr-defined]
    for cases in tests.values():
        (strength,) = cases[0].get_closest_marker("covering").args
        values = [_values(case) for case in cases]
        quick, full = covering(values, strength), covering(values, strength + 1)
        for i, case in enumerate(cases):
            if i not in quick:
                case.add_marker(pytest.mark.full if i in full else pytest.mark.soak)


def mark_what_is_compiled(items: Iterable[pytest.Item]) -> None:
    """Give the marker `compiled` to the tests of kernels."""
    for item in items:
        if _is_of_both_forms(item):
            item.add_marker(pytest.mark.compiled)


def leave_out_what_is_compiled(items: list[pytest.Item]) -> list[pytest.Item]:
    """Take the tests that need the compiler out of a run without it."""
    out = [item for item in items if item.get_closest_marker("compiled") and not _is_of_both_forms(item)]
    items[:] = [item for item in items if item not in set(out)]
    return out


def _is_of_both_forms(item: pytest.Item) -> bool:
    return "tests/compiled/" in item.nodeid


def mark_what_needs_no_second_run(items: Iterable[pytest.Item]) -> None:
    """Give the marker `once` to quick cases in whose module nothing is drawn.

    The full tier would do the same, but for compiling the kernels; there its own cases of the same tests compile them.
    Examples of modules have no other cases: the full tier runs them again, compiled, as users do.
    """
    for item in items:
        is_example = isinstance(item, pytest.DoctestItem)
        if not is_example and not _is_in_another_tier(item) and not _DRAWING & vars(item.module).keys():  # type: ignore[attr-defined]
            item.add_marker(pytest.mark.once)


#: names by which a module draws cases, more of them in the full tier
_DRAWING = {"examples", "given", "settings", "share"}


def _is_in_another_tier(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) for name in ("full", "soak"))


def _values(item: pytest.Item) -> list[Hashable]:
    """The values of a case's parameters, such that equal ones are the same value."""
    return [_hashable(value) for _, value in sorted(item.callspec.params.items())]  # type: ignore[attr-defined]


def _hashable(value: Any) -> Hashable:
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return type(value), value
