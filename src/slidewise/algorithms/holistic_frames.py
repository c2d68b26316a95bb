"""Count distinct, mode and quantile over frames that may move back and forth (Wesley, Xu: Incremental
Computation of Common Windowed Holistic Aggregates): the paper's naive and incremental variants side by side,
with a count of their work.

A frame is the rows start[i] to end[i] - 1; one that ends before it starts is empty. Nulls are skipped, all
NaNs are one value above every number. Each function returns the results and the Work that they took, so that
the paper's claims can be seen; for speed over columns there are the compiled kernels.

The incremental variants go from frame P to frame F by the rows of F that are not in P, which are added, and
those of P that are not in F, which are removed (section 3.2 swaps the two). Disjoint frames start anew.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from slidewise.aggregations.ranks import Percentile, PercentileDisc
from slidewise.algorithms.incremental_count_distinct import TAU, DistinctCounter, checked_tau
from slidewise.algorithms.incremental_mode import Rescanned, Tournament
from slidewise.algorithms.incremental_quantile import QuantileIndex
from slidewise.algorithms.raw_values import to_key, to_value
from slidewise.errors import InvalidInput

Frame = tuple[int, int]


@dataclass
class Work:
    """What a run has cost."""

    #: counts that were changed in a table
    hash_operations: int = 0
    #: frames that were counted anew, since they share no row with the last or the table was mostly empty
    recounts: int = 0
    #: tables that were searched for a lost mode
    rescans: int = 0
    #: QuickSelects, scans for the neighbour of a selected value, and selections that replacement spared
    selects: int = 0
    scans: int = 0
    avoided: int = 0
    #: values that selections and scans looked at
    visits: int = 0


# ---- count distinct and mode: a table of counts
def count_distinct(
    values: Sequence[Any],
    start: Sequence[int],
    end: Sequence[int],
    *,
    variant: str = "incremental",
    tau: float = TAU,
) -> tuple[list[int], Work]:
    """Count the different values of each frame. Incremental: O(rows that change), amortised.

    variant="naive" (algorithm 1) counts each frame anew; "incremental" (algorithm 2) does so when the live
    share of its table has fallen to tau. tau=1 is the naive one again.

    >>> from slidewise.algorithms import holistic_frames
    >>> results, work = holistic_frames.count_distinct([3, 4, 3, 2, 7, 2, 5, 4], range(5), range(4, 9))
    >>> results, work.hash_operations
    ([3, 4, 3, 3, 4], 12)
    """
    keys, frames = prepare(values, start, end)
    if one_of("variant", variant, "naive", "incremental") == "naive":
        tau = 1
    checked_tau(tau)
    work = Work()
    tables = count_frames(keys, frames, lambda: DistinctCounter(0), lambda t: t.live <= tau * len(t.counts), work)
    return [table.live for table in tables], work


def mode(
    values: Sequence[Any],
    start: Sequence[int],
    end: Sequence[int],
    *,
    variant: str = "tournament",
    tau: float = TAU,
) -> tuple[list[Any], Work]:
    """Find the most frequent value of each frame; None where a frame has no values.

    variant="naive" (algorithm 3) counts each frame anew; "incremental" (algorithm 4) keeps its table until
    the live share has fallen to tau, and searches it when the mode is lost. Their ties depend on the order of
    events. "tournament" is ours: ties to the lowest value, O(log distinct) for a row that changes.

    >>> from slidewise.algorithms import holistic_frames
    >>> results, work = holistic_frames.mode("cdcbgbed", range(5), range(4, 9))
    >>> results
    ['c', 'b', 'b', 'b', 'b']
    """
    keys, frames = prepare(values, start, end)
    work = Work()
    if one_of("variant", variant, "naive", "incremental", "tournament") == "tournament":
        tables = count_frames(keys, frames, Tournament, lambda t: False, work)
        return [to_value(table.mode()) for table in tables], work
    if variant == "naive":
        tau = 1
    checked_tau(tau)
    tables = count_frames(keys, frames, lambda: Rescanned(0), lambda t: t.live <= tau * len(t.counts), work)
    results = []
    for table in tables:
        work.rescans += not table.valid
        results.append(to_value(table.mode()))
    return results, work


def count_frames(
    keys: list[Any],
    frames: Iterable[Frame],
    new_table: Callable[[], Any],
    mostly_empty: Callable[[Any], bool],
    work: Work,
) -> Iterator[Any]:
    """Give the table of counts of each frame: the last one brought up to date where that pays, else a new one."""
    table, last = new_table(), (0, 0)
    for frame in frames:
        if mostly_empty(table) or frame[0] >= last[1] or frame[1] <= last[0]:
            table, last = new_table(), (frame[0], frame[0])
            work.recounts += 1
        for row in difference(last, frame):
            table.remove(keys[row])
            work.hash_operations += 1
        for row in difference(frame, last):
            table.add(keys[row])
            work.hash_operations += 1
        last = frame
        yield table


def difference(a: Frame, b: Frame) -> Iterator[int]:
    """List the rows of frame a that are not in frame b."""
    return chain(range(a[0], min(a[1], b[0])), range(max(a[0], b[1]), a[1]))


# ---- quantile: a partially ordered index
def quantile(
    values: Sequence[Any],
    start: Sequence[int],
    end: Sequence[int],
    fraction: float | Sequence[float],
    *,
    continuous: bool = True,
    method: str = "spark",
    variant: str = "replace",
) -> tuple[list[Any], Work]:
    """Compute the quantile of each frame; None where a frame has no values. `fraction` may differ by frame.

    variant="naive" (algorithm 7), "reuse" (8) or "replace" (11): see incremental_quantile. method="spark"
    interpolates, and takes the ceil(q n)-th value where not continuous; "paper" averages the two neighbours,
    and takes the value of rank floor(q (n - 1)).

    >>> from slidewise.algorithms import holistic_frames
    >>> values = [0, 0, 2, 3, 4, 5, 6, 7, 8, 8, 10]
    >>> holistic_frames.quantile(values, [0, 0], [11, 10], 0.5)[0]
    [5.0, 4.5]
    """
    keys, frames = prepare(values, start, end)
    fractions = fraction if isinstance(fraction, Sequence) else [fraction] * len(frames)
    if len(fractions) != len(frames):
        raise InvalidInput(
            f"quantile: {len(frames)} frames and {len(fractions)} fractions; give one for all, or one each"
        )
    kind = Percentile if continuous else PercentileDisc
    rule = kind(0.5, method=method)  # type: ignore[arg-type]
    index = QuantileIndex(keys, variant)

    def kth(k: int) -> Any:
        return to_value(index.kth(k))

    results = []
    for (first, last), q in zip(frames, fractions, strict=True):
        index.move(first, last)
        results.append(rule.select(last - first, kth, q))
    return results, Work(selects=index.selects, scans=index.scans, avoided=index.avoided, visits=index.visits)


# ---- input
def prepare(values: Sequence[Any], start: Sequence[int], end: Sequence[int]) -> tuple[list[Any], list[Frame]]:
    """Take the values without nulls, as keys, and the frames among them."""
    if len(start) != len(end):
        raise InvalidInput(f"frames: {len(start)} starts and {len(end)} ends; every frame has both")
    n = len(values)
    for i, (a, b) in enumerate(zip(start, end, strict=True)):
        if a < b and not (a >= 0 and b <= n):
            raise InvalidInput(f"frames: frame {i} is rows {a} to {b - 1}, and there are rows 0 to {n - 1}")
    keys = [to_key(value) for value in values]
    present = [row for row, key in enumerate(keys) if key is not None]
    bounds = zip(start, end, strict=True)
    frames = [(bisect_left(present, a), bisect_left(present, max(a, b))) for a, b in bounds]
    return [keys[row] for row in present], frames


def one_of(what: str, given: str, *allowed: str) -> str:
    if given not in allowed:
        raise InvalidInput(f"{what} must be one of {', '.join(map(repr, allowed))}, got {given!r}")
    return given
