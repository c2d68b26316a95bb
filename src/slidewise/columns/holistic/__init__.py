"""Compiled kernels of the holistic aggregations over columns: quantile, count distinct and mode.

Values are float64 or int64 arrays without nulls; other types come as codes that keep their order (Arrow's
dictionary encoding, sorted), and nulls are left out before, with the bounds of the frames counted anew.
Frame i is the rows start[i] to end[i] - 1. All NaNs are one value above every number, -0.0 is 0.0, integers
stay exact, and ties in mode go to the lowest value. Every function returns the results, and which of them
are valid: an empty frame has no quantile.

numba is imported when the first of these functions is called.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from slidewise.columns.buffers import all_valid
from slidewise.columns.holistic import interpreted
from slidewise.errors import InvalidInput
from slidewise.templates.cache import is_compiler_off

Result = tuple[np.ndarray, np.ndarray]

METHODS = ("continuous", "discrete", "continuous_as_paper", "discrete_as_paper", "nth_smallest")


# ---- quantile
def quantile_rows(values: np.ndarray, n: int, fraction: float, method: str = "continuous") -> Result:
    """Compute the quantile of every row and the n - 1 rows before it. 13 to 30 ns a row.

    method is "continuous" or "discrete" (Spark's percentile and percentile_disc), "continuous_as_paper" or
    "discrete_as_paper" (Wesley and Xu), or "nth_smallest", where `fraction` is a rank that counts from 1.

    >>> import numpy as np
    >>> from slidewise.columns.holistic import quantile_rows
    >>> quantile_rows(np.array([5.0, 1.0, 4.0, 2.0]), 3, 0.5)[0]
    array([5., 3., 4., 2.])
    """
    values, n = _require_numbers(values), min(_size(n), len(values))
    code = _method(method, fraction)
    if n == len(values) or is_compiler_off():
        return quantile(values, *_trailing(len(values), n), fraction, method)
    from slidewise.columns.holistic.chunk_ranks import first_passes
    from slidewise.columns.holistic.quantile_position import position
    from slidewise.columns.holistic.quantile_sliding import chunk_rows, new_room, sliding_quantile

    words, floats = _words(values)
    out, interpolated = _results(values, len(values), method)
    q = float(fraction)
    k, share = position(n, q, code)
    if k < n:
        chunk = min(chunk_rows(n), len(values))
        rule, room = (q, code, interpolated, first_passes(chunk)), new_room(chunk)
        sliding_quantile(words, floats, n, chunk, k, share, *rule, room, out.view(np.int64))
    else:
        out[:] = 0
    valid = np.ones(len(values), bool)
    if method == "nth_smallest":
        valid[: int(fraction) - 1 if fraction <= n else None] = False
    return out, valid


def quantile(
    values: np.ndarray, start: np.ndarray, end: np.ndarray, fraction: float | np.ndarray, method: str = "continuous"
) -> Result:
    """Compute the quantile of every frame; see quantile_rows. Frames that slide, in whatever order, 30 to 70 ns,
    others 120 to 220. An array has a fraction for each frame: four to seven times that, where they differ at random.

    >>> import numpy as np
    >>> from slidewise.columns.holistic import quantile
    >>> quantile(np.array([5, 1, 4, 2]), np.array([0, 2, 1]), np.array([4, 2, 4]), 0.5, "discrete")
    (array([2, 0, 2]), array([ True, False,  True]))
    >>> quantile(np.array([5, 1, 4, 2]), np.array([0, 0, 0]), np.array([4, 4, 4]), np.array([0.0, 0.5, 1.0]))[0]
    array([1., 3., 5.])
    """
    values, start, end = _require_numbers(values), *_bounds(start, end, len(values))
    varying = isinstance(fraction, np.ndarray)
    code = _method_of_all(method, fraction)
    if is_compiler_off():
        return interpreted.quantile(values, start, end, fraction, method)
    from slidewise.columns.holistic.frame_chunks import FEWEST, largest_chunk
    from slidewise.columns.holistic.quantile_monotone import monotone_quantile, new_room

    out, interpolated = _results(values, len(start), method)
    fractions = np.ascontiguousarray(fraction if varying else [fraction], np.float64)
    rule = (code, interpolated)

    def choose(which: Which) -> np.ndarray:
        return _as_read_only(np.ascontiguousarray(fractions[which]) if varying else fractions)

    def slide(start: np.ndarray, end: np.ndarray, out: np.ndarray, which: Which) -> None:
        room = new_room(*largest_chunk(start, end, len(values)))
        monotone_quantile(*_words(values), start, end, choose(which), *rule, FEWEST, room, out)

    def jump(start: np.ndarray, end: np.ndarray, longest: int, out: np.ndarray, which: Which) -> None:
        from slidewise.columns.holistic.chunk_ranks import workspace
        from slidewise.columns.holistic.quantile_any import any_quantile, block_frames

        work = workspace(len(values))
        any_quantile(*_words(values), start, end, choose(which), *rule, block_frames(longest), work, out)

    if varying and _travels_far(fractions, start, end):
        jump(start, end, int(np.max(end - start, initial=0)), out.view(np.int64), slice(None))
    else:
        _over(start, end, slide, jump, out.view(np.int64))
    return out, end - start >= fraction if method == "nth_smallest" else end > start


#: So many rows between the ranks of two neighbours take the cursor as long as a wavelet matrix. Of random fractions,
#: frames of 1,000 rows took it 499 ns and the matrix 853, those of 10,000 rows 2,430 and 1,410, of 100,000 rows 12,300
#: and 930 (on a busy machine, where a constant takes the cursor 126 to 300).
_FAR = 1200


def _travels_far(fractions: np.ndarray, start: np.ndarray, end: np.ndarray) -> bool:
    """Tell whether a cursor would go far from frame to frame, as fractions differ: then each is looked up by itself."""
    if len(fractions) < 2:
        return False
    steps = np.abs(np.diff(fractions)) * np.maximum(end - start, 0)[1:]
    return bool(steps.mean() > _FAR)


def _results(values: np.ndarray, frames: int, method: str) -> tuple[np.ndarray, bool]:
    """Allocate results, and tell whether they are interpolated, and so floats."""
    interpolated = method.startswith("continuous")
    return np.empty(frames, np.float64 if interpolated else values.dtype), interpolated


# ---- count distinct
def count_distinct_rows(values: np.ndarray, n: int) -> Result:
    """Count the different values of every row and the n - 1 rows before it. 2 ns a row for small integers.

    >>> import numpy as np
    >>> from slidewise.columns.holistic import count_distinct_rows
    >>> count_distinct_rows(np.array([3, 4, 3, 2, 7, 2]), 4)[0]
    array([1, 2, 2, 3, 4, 3])
    """
    values, n = _require_numbers(values), _size(n)
    if is_compiler_off():
        return count_distinct(values, *_trailing(len(values), n))
    from slidewise.columns.holistic.distinct_count import sliding_distinct

    out = np.empty(len(values), np.int64)
    sliding_distinct(*_codes(values), min(n, len(values)), out)
    return out, all_valid(len(out))


def count_distinct(values: np.ndarray, start: np.ndarray, end: np.ndarray) -> Result:
    """Count the different values of every frame; 0 where it is empty. Any frames 15 to 60 ns.

    >>> import numpy as np
    >>> from slidewise.columns.holistic import count_distinct
    >>> count_distinct(np.array([0.0, -0.0, np.nan, np.nan]), np.array([0, 1, 2]), np.array([4, 2, 2]))[0]
    array([2, 1, 0])
    """
    values, start, end = _require_numbers(values), *_bounds(start, end, len(values))
    if is_compiler_off():
        return interpreted.count_distinct(values, start, end)
    from slidewise.columns.holistic.distinct_count import any_distinct, monotone_distinct

    out = np.empty(len(start), np.int64)
    kernel = monotone_distinct if _monotone(start, end) else any_distinct
    kernel(*_codes(values), start, end, out)
    return out, all_valid(len(out))


# ---- mode
def mode_rows(values: np.ndarray, n: int) -> Result:
    """Find the most frequent value of every row and the n - 1 rows before it, the lowest of several.

    7 to 15 ns a row for small integers, else 25 to 40.

    >>> import numpy as np
    >>> from slidewise.columns.holistic import mode_rows
    >>> mode_rows(np.array([3, 1, 1, 3, 2]), 3)[0]
    array([3, 1, 1, 1, 1])
    """
    values, n = _require_numbers(values), _size(n)
    if is_compiler_off():
        return mode(values, *_trailing(len(values), n))
    from slidewise.columns.holistic.chunk_ranks import first_passes
    from slidewise.columns.holistic.mode_sliding import dense_mode, new_room, ranked_mode_of_rows
    from slidewise.columns.holistic.quantile_sliding import chunk_rows

    words, floats = _words(values)
    out = np.empty(len(values), np.int64)
    dense = _dense(values, _FEW)
    if dense:
        dense_mode(words, *dense, n, words[:0], words[:0], out)
    else:
        chunk = min(chunk_rows(min(n, len(values))), len(values))
        ranked_mode_of_rows(words, floats, n, chunk, first_passes(chunk), new_room(chunk), out)
    return out.view(values.dtype), all_valid(len(out))


def mode(values: np.ndarray, start: np.ndarray, end: np.ndarray) -> Result:
    """Find the most frequent value of every frame, the lowest of several. Bounds that move back: O(sqrt n) a
    frame.

    >>> import numpy as np
    >>> from slidewise.columns.holistic import mode
    >>> mode(np.array([3, 1, 1, 3, 2]), np.array([0, 3, 0]), np.array([4, 3, 1]))
    (array([1, 0, 3]), array([ True, False,  True]))
    """
    values, start, end = _require_numbers(values), *_bounds(start, end, len(values))
    if is_compiler_off():
        return interpreted.mode(values, start, end)
    from slidewise.columns.holistic.chunk_ranks import workspace
    from slidewise.columns.holistic.frame_chunks import largest_chunk
    from slidewise.columns.holistic.mode_sliding import dense_mode, new_room, ranked_mode_of_frames

    words, floats = _words(values)
    dense = _dense(values, _FEW)

    def slide(start: np.ndarray, end: np.ndarray, out: np.ndarray, which: Which) -> None:
        if dense:
            dense_mode(words, *dense, 0, start, end, out)
        else:
            room = new_room(largest_chunk(start, end, len(values))[0])
            ranked_mode_of_frames(words, floats, start, end, room, out)

    def jump(start: np.ndarray, end: np.ndarray, longest: int, out: np.ndarray, which: Which) -> None:
        from slidewise.columns.holistic.mode_any import any_mode

        block = max(4096, 4 * longest)
        few = dense if dense and dense[1] <= block else (0, 0)
        any_mode(words, floats, *few, start, end, longest, block, workspace(len(values)), out)

    out = np.empty(len(start), np.int64)
    _over(start, end, slide, jump, out)
    return out.view(values.dtype), end > start


# ---- any frames, by a merge sort tree
def quantile_by_tree(
    values: np.ndarray, start: np.ndarray, end: np.ndarray, fraction: float | np.ndarray, method: str = "continuous"
) -> Result:
    """Compute the quantile of every frame, as `quantile`, by a merge sort tree.

    >>> import numpy as np
    >>> from slidewise.columns.holistic import quantile_by_tree
    >>> quantile_by_tree(np.array([5, 1, 4, 2]), np.array([0, 2, 1]), np.array([4, 2, 4]), 0.5, "discrete")
    (array([2, 0, 2]), array([ True, False,  True]))
    """
    values, start, end = _require_numbers(values), *_bounds(start, end, len(values))
    code = _method_of_all(method, fraction)
    if is_compiler_off():
        return interpreted.quantile_by_tree(values, start, end, fraction, method)
    from slidewise.columns.holistic import merge_tree

    out, interpolated = _results(values, len(start), method)
    fractions = np.ascontiguousarray(np.broadcast_to(np.asarray(fraction, np.float64), len(start)))
    merge_tree.quantile(*_words(values), start, end, fractions, (code, interpolated), out.view(np.int64))
    valid = end - start >= fraction if method == "nth_smallest" else end > start
    out[~valid] = 0
    return out, valid


def count_distinct_by_tree(values: np.ndarray, start: np.ndarray, end: np.ndarray) -> Result:
    """Count the different values of every frame, as `count_distinct`, by a merge sort tree.

    >>> import numpy as np
    >>> from slidewise.columns.holistic import count_distinct_by_tree
    >>> count_distinct_by_tree(np.array([0.0, -0.0, np.nan, np.nan]), np.array([0, 1, 2]), np.array([4, 2, 2]))[0]
    array([2, 1, 0])
    """
    values, start, end = _require_numbers(values), *_bounds(start, end, len(values))
    if is_compiler_off():
        return interpreted.count_distinct_by_tree(values, start, end)
    from slidewise.columns.holistic import merge_tree

    out = merge_tree.count_distinct(*_codes(values), start, end)
    return out, all_valid(len(out))


def rank_by_tree(values: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Rank every row in its frame as SQL's rank() does: 1 and as many as the frame has lower values.

    Row i has the frame start[i] to end[i] - 1, and need not be in it.

    >>> import numpy as np
    >>> from slidewise.columns.holistic import rank_by_tree
    >>> rank_by_tree(np.array([5, 1, 4, 4]), np.array([0, 0, 0, 1]), np.array([4, 4, 4, 3]))
    array([4, 1, 2, 2])
    """
    values, start, end = _require_numbers(values), *_bounds(start, end, len(values))
    if len(start) != len(values):
        raise InvalidInput(f"rank: {len(values)} rows and {len(start)} frames; every row has one")
    if is_compiler_off():
        return interpreted.rank_by_tree(values, start, end)
    from slidewise.columns.holistic import merge_tree

    return 1 + merge_tree.ranks(*_words(values), start, end)


# ---- frames that slide, in some order, and frames that jump
#: which of all frames these are
Which = slice | np.ndarray
Slide = Callable[[np.ndarray, np.ndarray, np.ndarray, Which], None]
Jump = Callable[[np.ndarray, np.ndarray, int, np.ndarray, Which], None]


def _over(start: np.ndarray, end: np.ndarray, slide: Slide, jump: Jump, out: np.ndarray) -> None:
    """Compute all frames: those whose bounds never move back slide. So do those that jump around the row where they
    are asked for, but are as good as of one length: block by block, in the order of their bounds. Others jump.

    With the mod-prime frames of Wesley and Xu (100 to 10,000 rows) this takes a mode from 160 to 790 ns down to 40.
    """
    from slidewise.columns.holistic.frame_chunks import arrange

    if _monotone(start, end):
        slide(start, end, out, slice(None))
        return
    longest = int(np.max(end - start, initial=0))
    block = min(len(start), max(1 << 14, 4 * longest))
    order, found = np.empty(block, np.int32), np.empty(block, np.int64)
    starts, ends = np.empty(block, np.int64), np.empty(block, np.int64)
    for i in range(0, len(start), block):
        a, b = start[i : i + block], end[i : i + block]
        n, lowest = len(a), int(min(a.min(), b.min()))
        size = int(max(a.max(), b.max())) - lowest
        if size > 16 * block or not arrange(a, b, lowest, size, order[:n], starts[:n], ends[:n]):
            jump(start[i:], end[i:], longest, out[i:], slice(i, None))  # the rest: it may prepare all rows, once
            return
        slide(_as_read_only(starts[:n]), _as_read_only(ends[:n]), found[:n], order[:n] + i)
        out[i : i + n][order[:n]] = found[:n]


# ---- codes
#: so many counts stay in cache
_FEW = 1 << 16


def _dense(values: np.ndarray, most: int) -> tuple[int, int] | None:
    """Return the lowest of the integers and the size of their range; None where it is above `most`, or for floats."""
    if values.dtype != np.int64 or not len(values):
        return None
    lowest = int(values.min())
    size = int(values.max()) - lowest + 1
    return (lowest, size) if size <= most else None


def _codes(values: np.ndarray) -> tuple[np.ndarray, int, int]:
    """Return numbers that are equal where the values are, the lowest of them, and the size of their range."""
    from slidewise.columns.holistic.codes import codes_of

    dense = _dense(values, max(_FEW, 2 * len(values)))
    if dense:
        return _as_read_only(values), *dense
    codes = np.empty(len(values), np.int64)
    return _as_read_only(codes), 0, codes_of(*_words(values), codes)


# ---- input
def _words(values: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return the values' words, and whether they are floats."""
    return _as_read_only(values.view(np.int64)), values.dtype == np.float64


def _as_read_only(array: np.ndarray) -> np.ndarray:
    """Return a read-only view, as Arrow's arrays are: numba would compile a kernel for either kind."""
    view = array.view()
    view.flags.writeable = False
    return view


def _trailing(rows: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Build the bounds of every row and the n - 1 rows before it."""
    end = np.arange(1, rows + 1)
    return _as_read_only(np.maximum(end - n, 0)), _as_read_only(end)


def _require_numbers(values: np.ndarray) -> np.ndarray:
    if values.dtype not in (np.dtype(np.float64), np.dtype(np.int64)):
        raise InvalidInput(f"these kernels take float64 or int64 values, got {values.dtype}: encode them first")
    if len(values) >= 2**31:
        raise InvalidInput(f"these kernels take fewer than 2**31 rows at a time, got {len(values)}: split by key")
    return np.ascontiguousarray(values)


def _bounds(start: np.ndarray, end: np.ndarray, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Check the bounds, and return them as kernels take them: outside the rows they would read foreign memory."""
    start, end = np.ascontiguousarray(start, np.int64), np.ascontiguousarray(end, np.int64)
    if len(start) != len(end):
        raise InvalidInput(f"frames: {len(start)} starts and {len(end)} ends; every frame has both")
    for bounds in (start, end):
        if np.min(bounds, initial=0) < 0 or np.max(bounds, initial=0) > rows:
            raise InvalidInput(
                f"frames: bounds lie between 0 and the {rows} rows, got {bounds.min()} to {bounds.max()}"
            )
    return _as_read_only(start), _as_read_only(end)


def _size(n: int) -> int:
    if n < 1:
        raise InvalidInput(f"a window of rows has at least one row, got {n!r}")
    return int(n)


def _method(method: str, fraction: float) -> int:
    """Return the number of a method, and check its fraction or rank."""
    if method not in METHODS:
        raise InvalidInput(f"quantile: method must be one of {', '.join(METHODS)}, got {method!r}")
    if method == "nth_smallest":
        if fraction != int(fraction) or fraction < 1:
            raise InvalidInput(f"nth_smallest: the rank is a whole number from 1 on, got {fraction!r}")
    elif not 0.0 <= fraction <= 1.0:
        raise InvalidInput(f"quantile: fraction must be between 0 and 1, got {fraction!r}")
    return METHODS.index(method)


def _method_of_all(method: str, fraction: float | np.ndarray) -> int:
    """Return the number of a method, and check its fraction or rank, or those of all frames."""
    if not isinstance(fraction, np.ndarray):
        return _method(method, fraction)
    _method(method, fraction.max(initial=0.0))
    return _method(method, fraction.min(initial=0.0))


def _monotone(start: np.ndarray, end: np.ndarray) -> bool:
    """Tell whether neither bound ever moves back, nor crosses the other."""
    return bool(np.all(start[1:] >= start[:-1]) and np.all(end[1:] >= end[:-1]) and np.all(start <= end))
