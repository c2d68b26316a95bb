"""Count distinct, mode and quantile over frames that may move back and forth (Wesley, Xu: Incremental
Computation of Common Windowed Holistic Aggregates): the paper's naive and incremental variants side by side,
with a count of their work.

A frame is the rows start[i] to end[i] - 1; one that ends before it starts is empty. Nulls are skipped, all
NaNs are one value above every number. Each function returns the results and the Work that they took, so that
the paper's claims can be seen; for speed over columns there are the compiled kernels.

The incremental variants go from frame P to frame F by the rows of F that are not in P, which are added, and
those of P that are not in F, which are removed (section 3.2 swaps the two). Disjoint frames start anew.

Three things that the paper suggests and leaves to others are options of the incremental variants:

    start_over  a frame is also begun anew where more rows of the last one leave than stay (section 5.4): frames of
                1,000 rows that share one cost 1,000 changes of a count each, and 1,998 without it
    floor       a table of fewer entries is not flushed (section 3.3)
    reorder     frames are visited in the order of their starts (section 3.4; the best order is NP-hard to find), and
                results given in the order of the frames: 40 frames of 1,000 rows, in turn from two places, cost 2,152
                changes of a count, and 40,000 without it
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from slidewise.aggregations.ranks import Percentile, PercentileDisc
from slidewise.algorithms.incremental_count_distinct import (
    TAU,
    DistinctCounter,
    checked_floor,
    checked_tau,
    is_mostly_empty,
)
from slidewise.algorithms.incremental_mode import Rescanned, Tournament
from slidewise.algorithms.incremental_quantile import QuantileIndex, checked_start_over
from slidewise.algorithms.raw_values import share_little, to_key, to_value
from slidewise.errors import InvalidInput

Frame = tuple[int, int]


@dataclass
class Work:
    """What a run has cost."""

    #: counts that were changed in a table
    hash_operations: int = 0
    #: frames that were counted anew, since they share too few rows with the last or the table was mostly empty
    recounts: int = 0
    #: tables that were searched for a lost mode
    rescans: int = 0
    #: QuickSelects, scans for the neighbour of a selected value, and selections that replacement spared
    selects: int = 0
    scans: int = 0
    avoided: int = 0
    #: values that selections and scans looked at
    visits: int = 0
    #: entries of an index that were written, or read to tell whether they stay
    entries: int = 0


# ---- count distinct and mode: a table of counts
def count_distinct(
    values: Sequence[Any],
    start: Sequence[int],
    end: Sequence[int],
    *,
    variant: str = "incremental",
    tau: float = TAU,
    floor: int = 0,
    start_over: bool = False,
    reorder: bool = False,
) -> tuple[list[int], Work]:
    """Count the different values of each frame. Incremental: O(rows that change), amortised.

    variant="naive" (algorithm 1) counts each frame anew; "incremental" (algorithm 2) does so when the live
    share of its table has fallen to tau. tau=1 is the naive one again. The other options are told at the top.

    >>> from slidewise.algorithms import holistic_frames
    >>> results, work = holistic_frames.count_distinct([3, 4, 3, 2, 7, 2, 5, 4], range(5), range(4, 9))
    >>> results, work.hash_operations
    ([3, 4, 3, 3, 4], 12)
    >>> far_apart = [0, 4, 1, 5], [4, 8, 5, 9]  # in turn from two places
    >>> results, work = holistic_frames.count_distinct([3, 4, 3, 2, 7, 2, 5, 4, 1], *far_apart, reorder=True)
    >>> results, work.hash_operations
    ([3, 4, 4, 4], 14)
    """
    keys, frames = prepare(values, start, end)
    one_of("variant", variant, "naive", "incremental")
    recount, order, work = recount_rule(variant, tau, floor, start_over), visiting_order(frames, reorder), Work()
    tables = count_frames(keys, [frames[i] for i in order], lambda: DistinctCounter(0), recount, work)
    return in_order([table.live for table in tables], order), work


def mode(
    values: Sequence[Any],
    start: Sequence[int],
    end: Sequence[int],
    *,
    variant: str = "tournament",
    tau: float = TAU,
    floor: int = 0,
    start_over: bool = False,
    reorder: bool = False,
) -> tuple[list[Any], Work]:
    """Find the most frequent value of each frame; None where a frame has no values.

    variant="naive" (algorithm 3) counts each frame anew; "incremental" (algorithm 4) keeps its table until
    the live share has fallen to tau, and searches it when the mode is lost. Their ties depend on the order of
    events. "tournament" is ours: ties to the lowest value, O(log distinct) for a row that changes; it keeps no
    counts of zero, and so has no tau and no floor. The other options are told at the top.

    >>> from slidewise.algorithms import holistic_frames
    >>> results, work = holistic_frames.mode("cdcbgbed", range(5), range(4, 9))
    >>> results
    ['c', 'b', 'b', 'b', 'b']
    """
    keys, frames = prepare(values, start, end)
    paper = one_of("variant", variant, "naive", "incremental", "tournament") != "tournament"
    recount, order, work = recount_rule(variant, tau, floor, start_over), visiting_order(frames, reorder), Work()
    results = []
    for table in count_frames(
        keys, [frames[i] for i in order], (lambda: Rescanned(0)) if paper else Tournament, recount, work
    ):
        work.rescans += paper and not table.valid
        results.append(to_value(table.mode()))
    return in_order(results, order), work


Rule = Callable[[Any, Frame, Frame], bool]


def recount_rule(variant: str, tau: float, floor: int, start_over: bool) -> Rule:
    """Choose when a frame is counted anew though it shares rows with the last: a rule of the table and both frames."""
    checked_tau(tau)
    checked_floor(floor)
    checked_start_over(start_over, variant)
    if variant == "naive":
        return lambda table, last, frame: True

    flushes = variant == "incremental"

    def recount(table: Any, last: Frame, frame: Frame) -> bool:
        return (flushes and is_mostly_empty(table, tau, floor)) or (start_over and share_little(last, frame))

    return recount


def count_frames(
    keys: list[Any],
    frames: Iterable[Frame],
    new_table: Callable[[], Any],
    recount: Rule,
    work: Work,
) -> Iterator[Any]:
    """Give the table of counts of each frame: the last one brought up to date where that pays, else a new one."""
    table, last = new_table(), (0, 0)
    for frame in frames:
        if frame[0] >= last[1] or frame[1] <= last[0] or recount(table, last, frame):
            table, last = new_table(), (frame[0], frame[0])
            work.recounts += 1
        gone, new = difference(keys, last, frame), difference(keys, frame, last)
        for key in gone:
            table.remove(key)
        for key in new:
            table.add(key)
        work.hash_operations += len(gone) + len(new)
        last = frame
        yield table


def difference(keys: list[Any], a: Frame, b: Frame) -> list[Any]:
    """List the keys of frame a's rows that are not in frame b."""
    after = keys[a[0] : a[1]] if b[1] <= a[0] else keys[b[1] : a[1]]
    return keys[a[0] : min(a[1], b[0])] + after if a[0] < b[0] else after


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
    start_over: bool = False,
    reorder: bool = False,
) -> tuple[list[Any], Work]:
    """Compute the quantile of each frame; None where a frame has no values. `fraction` may differ by frame.

    variant="naive" (algorithm 7), "reuse" (8) or "replace" (11): see incremental_quantile. method="spark"
    interpolates, and takes the ceil(q n)-th value where not continuous; "paper" averages the two neighbours,
    and takes the value of rank floor(q (n - 1)). The other options are told at the top.

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
    index = QuantileIndex(keys, variant, start_over)

    def kth(k: int) -> Any:
        return to_value(index.kth(k))

    order = visiting_order(frames, reorder)
    results = []
    for i in order:
        first, last = frames[i]
        index.move(first, last)
        results.append(rule.select(last - first, kth, fractions[i]))
    work = Work(
        selects=index.selects, scans=index.scans, avoided=index.avoided, visits=index.visits, entries=index.entries
    )
    return in_order(results, order), work


# ---- in which order frames are visited
def visiting_order(frames: list[Frame], reorder: bool) -> Sequence[int]:
    """List the frames as they are visited: as given, or by their starts, and by their ends where those are equal."""
    if type(reorder) is not bool:
        raise InvalidInput(f"reorder must be True or False, got {reorder!r}")
    return sorted(range(len(frames)), key=frames.__getitem__) if reorder else range(len(frames))


def in_order(results: list[Any], order: Sequence[int]) -> list[Any]:
    """Put the results of frames that were visited in this order back to the order of the frames."""
    placed = [None] * len(results)
    for i, result in zip(order, results, strict=True):
        placed[i] = result
    return placed


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
