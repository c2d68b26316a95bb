"""One aggregation over frames of columns: compiled where numba can, interpreted where not, by any algorithm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.distinct import OfDistinct, by_name
from slidewise.aggregations.ranks import Percentile
from slidewise.aggregations.trial import compute_trial, make_trial_rows, partial_dtype, result_dtype, typed_identity
from slidewise.aggregations.values import plain
from slidewise.algorithms import _sba_lanes
from slidewise.columns import fused_kernel
from slidewise.columns.buffers import OutputBuffers, all_valid, allocate, allocate_line
from slidewise.columns.frames.bounds import Frames, KeyedTrailingRows, Pieces, Scattered
from slidewise.columns.fused import Joint, joint
from slidewise.errors import IllegalPair, InvalidInput
from slidewise.planner.choose import BY_BOUNDS, require_frames
from slidewise.registry import algorithm as algorithm_entry
from slidewise.registry import require_legal
from slidewise.registry.entries import AlgorithmEntry
from slidewise.templates import fifo, fold
from slidewise.templates.bind import bind, functions_of
from slidewise.templates.compile import kernel, new_state
from slidewise.templates.interpret import optional_names, run_interpreted, swag_class

Columns = tuple[np.ndarray, ...]


Results = tuple[np.ndarray, np.ndarray]


def compute(
    aggregation: Aggregation,
    columns: Columns,
    frames: Frames,
    algorithm: str,
    buffers: OutputBuffers | None = None,
    asked: Columns = (),
) -> Results:
    """Compute the results of all frames, and which of them are not null; written to `buffers`, if given.

    Where frames ask something each, `asked` are the arguments of lower.
    """
    entry = algorithm_entry(algorithm)
    require_legal(entry, aggregation)
    _require_frames(entry, frames)
    distinct = isinstance(aggregation, OfDistinct) and entry.name in ("flat_fat", "merge_sort_tree")
    in_pieces = isinstance(frames, Pieces) and entry.name == "flat_fat" and not distinct
    if isinstance(frames, Scattered) and not in_pieces:
        return _run_scattered(aggregation, columns, frames, algorithm, asked)
    if distinct:
        of = aggregation.of  # type: ignore[attr-defined]
        with by_name(aggregation.name, of):
            return _run_distinct(entry, of, columns, frames)
    numeric = all(c.dtype.kind in "biuf" for c in columns)
    if not entry.events:
        return _run_holistic(entry, aggregation, columns[0], frames, asked)
    if numeric and entry.compiled and (other := aggregation.by_columns(columns)) is not None:
        base, made, finish = other
        out, valid = compute(base, made, frames, algorithm, buffers)
        return finish(out, *asked), valid
    op = aggregation.compiled(columns, frames.longest) if numeric and entry.compiled else None
    result = _run_compiled(entry, op, columns, frames, buffers) if op is not None else None
    return result if result is not None else _run_interpreted(entry, aggregation, columns, frames, asked)


def compute_jointly(
    aggregations: Sequence[Aggregation], columns: Columns, frames: Frames, algorithm: str, buffers: OutputBuffers
) -> list[Results] | None:
    """Compute several aggregations in one pass; None where that cannot be compiled."""
    entry = algorithm_entry(algorithm)
    ops = [aggregation.compiled(columns, frames.longest) for aggregation in aggregations]
    if any(op is None for op in ops):
        return None
    made = [op for op in ops if op is not None]
    outs = tuple(
        buffers.take(f"result {k}", result_dtype(op, columns, partial_dtype(op, columns))) for k, op in enumerate(made)
    )
    if frames.trailing is not None and entry.name == "sba" and len(frames):
        return _run_fused_counted(made, columns, frames, outs, buffers)
    valid = buffers.take("valid", np.dtype(bool))
    for array in () if _writes_every(entry, frames) else (*outs, valid):
        array.fill(0)
    op = joint(made, columns, counted=False)
    run: _Runner = _RUNNERS.get(entry.name, _run_fifo)
    if not run(_Compiler(entry.module, op, op.partial), columns, frames, outs, valid):
        return None
    return [(out, valid) for out in outs]


def _run_fused_counted(
    ops: list[Aggregation], columns: Columns, frames: Frames, outs: tuple[np.ndarray, ...], buffers: OutputBuffers
) -> list[Results] | None:
    """Compute over trailing rows, whose number is known but for the first ones. Results in doubt are computed alone."""
    op, n = joint(ops, columns, counted=True), frames.longest
    c = _Compiler(fused_kernel, op, op.partial)
    now, later = (tuple(outs[k] for k in group) for group in (op.now, op.later))
    doubtful = np.array([len(frames), 0])
    work = allocate(2 * n + 2, op.partial), allocate(2 * fused_kernel.BLOCK, op.waiting)
    if not c.call(fused_kernel.run, *work, columns, n, now, later, doubtful):
        return None
    valid = all_valid(len(frames))
    results = [(out, valid) for out in outs]
    sba = algorithm_entry("sba").module
    few = next(count for count in range(n) if op.defined(count + 1))  # frames too short for a result of all
    for k in op.later:
        results[k] = outs[k], buffers.take(f"valid {k}", np.dtype(bool))
        results[k][1].fill(True)
        alone = _Compiler(sba, ops[k], partial_dtype(ops[k], columns))
        for first, end in ((0, few), (int(doubtful[0]), int(doubtful[1]))):
            if first < end and not _run_again(alone, columns, n, first, end, *results[k]):
                return None
    return results


def _require_frames(entry: AlgorithmEntry, frames: Frames) -> None:
    capacity = dict(entry.given).get("capacity")
    if capacity is not None and capacity < frames.longest:
        raise InvalidInput(
            f"{entry.name}: a capacity of {capacity} is given, and a frame has {frames.longest} rows. "
            "Give one that holds the longest frame, or none"
        )
    require_frames(entry, frames.monotone)


# ---- frames with holes
def _run_scattered(
    aggregation: Aggregation, columns: Columns, frames: Scattered, algorithm: str, asked: Columns
) -> Results:
    """Compute frames with holes by copying their rows one frame after the other: O(rows of all frames), in batches."""
    done = []
    first = 0
    for rows, offsets in frames.batches(_BATCH):
        gathered, last = tuple(c[rows] for c in columns), first + len(offsets) - 1
        questions = tuple(values[first:last] for values in asked)
        done.append(compute(aggregation, gathered, Frames(offsets[:-1], offsets[1:]), algorithm, asked=questions))
        first = last
    if not done:
        return compute(aggregation, tuple(c[:0] for c in columns), Frames(*np.zeros((2, 0), np.int64)), algorithm)
    outs, valids = zip(*done, strict=True)
    return np.concatenate(outs), np.concatenate(valids)


#: rows that are copied at a time; a frame alone may have more
_BATCH = 1 << 20


# ---- holistic
def _run_holistic(
    entry: AlgorithmEntry, aggregation: Aggregation, column: np.ndarray, frames: Frames, asked: Columns = ()
) -> Results:
    """Run the kernels of order statistics, distinct counts and modes, on values as 64-bit numbers."""
    from slidewise.columns import holistic

    if isinstance(aggregation, Percentile) and aggregation.parts:
        found = [_run_holistic(entry, part, column, frames) for part in aggregation.parts]
        lists = np.empty(len(frames), object)
        for i, row in enumerate(zip(*(out.tolist() for out, _ in found), strict=True)):
            lists[i] = list(row)
        return lists, found[0][1]
    values = _as_64_bits(entry, aggregation, column)
    n = frames.trailing
    if entry.name == "chunk_ranks":
        rule, fraction = aggregation.rule_and_fraction  # type: ignore[attr-defined]
        if asked:
            out, valid = holistic.quantile(values, frames.start, frames.end, asked[0], rule)
        elif n is not None:
            out, valid = holistic.quantile_rows(values, n, fraction, rule)
        else:
            out, valid = holistic.quantile(values, frames.start, frames.end, fraction, rule)
    elif entry.name == "last_occurrence":
        if n is not None:
            out, valid = holistic.count_distinct_rows(values, n)
        else:
            out, valid = holistic.count_distinct(values, frames.start, frames.end)
    elif entry.name == "merge_sort_tree" and aggregation.order_statistic:
        rule, fraction = aggregation.rule_and_fraction  # type: ignore[attr-defined]
        out, valid = holistic.quantile_by_tree(values, frames.start, frames.end, asked[0] if asked else fraction, rule)
    elif entry.name == "merge_sort_tree":
        out, valid = holistic.count_distinct_by_tree(values, frames.start, frames.end)
    else:
        out, valid = holistic.mode_rows(values, n) if n is not None else holistic.mode(values, frames.start, frames.end)
    return (out.astype(column.dtype, copy=False) if aggregation.keeps_type else out), valid


def _as_64_bits(entry: AlgorithmEntry, aggregation: Aggregation, column: np.ndarray) -> np.ndarray:
    beyond = column.dtype.kind == "u" and column.max(initial=0) >= 2**63
    if beyond and aggregation.order_statistic and aggregation.interpolates:  # type: ignore[attr-defined]
        return column.astype(np.float64)  # as the result is
    if column.dtype.kind not in "biuf" or beyond:
        raise IllegalPair(
            f"{entry.name} works on numbers of 64 bits, and the column is of {column.dtype}. "
            "Use order_statistic_tree, incremental_count_distinct or incremental_mode, which take anything"
        )
    return column.astype(np.float64 if column.dtype.kind == "f" else np.int64, copy=False)


# ---- compiled
def _run_compiled(
    entry: AlgorithmEntry, op: Aggregation, columns: Columns, frames: Frames, buffers: OutputBuffers | None
) -> Results | None:
    partial = partial_dtype(op, columns)
    dtype = result_dtype(op, columns, partial)
    every = _writes_every(entry, frames)
    out = allocate_line(len(frames), dtype) if buffers is None else buffers.take("result", dtype)
    # Where all frames have a result, drivers of trailing rows fill what there is of `valid`, and here that is nothing.
    forms = (op,) if op.counted is None else (op, op.counted)
    sure = every and all(form.defined is Aggregation.defined for form in forms) and entry.name not in BY_BOUNDS
    if sure:
        valid = np.empty(0, bool)
    else:
        valid = np.empty(len(frames), bool) if buffers is None else buffers.take("valid", np.dtype(bool))
    if not every:
        out.fill(0)
        valid.fill(False)
    run: _Runner = _RUNNERS.get(entry.name, _run_fifo)
    if not run(_Compiler(entry.module, op, partial, dict(entry.given)), columns, frames, out, valid):
        return None
    if sure:
        return out, all_valid(len(frames))
    if every and op.defined is not Aggregation.defined:
        out[~valid] = np.zeros(1, dtype)[0]  # whatever stood in the memory
    return out, valid


def _writes_every(entry: AlgorithmEntry, frames: Frames) -> bool:
    """Tell whether the driver writes `valid` for every frame; others leave empty ones alone."""
    return frames.trailing is not None or (isinstance(frames, KeyedTrailingRows) and entry.name not in _RUNNERS)


class _Compiler:
    """Kernels of one algorithm and aggregation."""

    def __init__(
        self, module: ModuleType, op: Aggregation, partial: np.dtype, options: Mapping[str, Any] | None = None
    ) -> None:
        self.module, self.op, self.partial = module, op, partial
        #: those given with the algorithm's name
        self.options = options or {}

    def work(self, size: int) -> np.ndarray:
        """Allocate that many partials."""
        return np.zeros(max(size, 1), self.partial)

    def work_by_field(self, size: int) -> np.ndarray | tuple[np.ndarray, ...]:
        """Allocate that many partials, with an array for each of their fields."""
        fields = self.partial.names
        return (
            np.zeros(size, self.partial) if fields is None else tuple(np.zeros(size, self.partial[f]) for f in fields)
        )

    def identity_by_field(self) -> np.ndarray | tuple[np.ndarray, ...]:
        """Make such an array of one partial, the identity."""
        one = np.array([typed_identity(self.op, self.partial)], self.partial)
        return one if one.dtype.names is None else tuple(one[f].copy() for f in one.dtype.names)

    def call(self, driver: Any, *args: Any) -> bool:
        """Run a driver compiled; False where numba cannot compile it."""
        more = self.op.functions if isinstance(self.op, Joint) else None
        function = kernel(driver, self.module, self.op, self.partial, args, more)
        if function is not None:
            function(*args)
        return function is not None


def _run_fifo(c: _Compiler, columns: Columns, frames: Frames, out: Any, valid: np.ndarray) -> bool:
    state = new_state(c.module, c.op, c.partial, c.options.get("capacity", frames.longest + 1))
    if frames.trailing is not None:
        return c.call(fifo.run_rows, state, columns, frames.trailing, out, valid)
    if isinstance(frames, KeyedTrailingRows):
        return c.call(fifo.run_keys, state, columns, frames.offsets, frames.n, out, valid)
    return c.call(fifo.run, state, columns, 0, 0, frames.start, frames.end, out, valid)


def _run_fold(c: _Compiler, columns: Columns, frames: Frames, out: Any, valid: np.ndarray) -> bool:
    return c.call(fold.run, columns, frames.start, frames.end, out, valid)


def _run_sba(c: _Compiler, columns: Columns, frames: Frames, out: Any, valid: np.ndarray) -> bool:
    if frames.trailing is not None and frames.longest > c.module.MOST_ROWS:
        from slidewise.algorithms import _sba_blocks

        c = _Compiler(_sba_blocks, c.op, c.partial)
    if frames.trailing is not None and len(out) and (counted := find_counted(c.op, columns)) is not None:
        return _run_counted(c, counted, columns, frames.longest, out, valid)
    if frames.trailing is not None:
        return c.call(c.module.run_rows, c.work(c.module.room(frames.longest)), columns, frames.longest, out, valid)
    return c.call(c.module.run_frames, c.work(frames.longest), columns, frames.start, frames.end, out, valid)


def find_counted(op: Aggregation, columns: Columns) -> Aggregation | None:
    """Find the form for frames of a known number of rows, where there is one for these columns."""
    counted = op.counted
    if counted is None or not counted.refuses_nan or op.knows_no_nan:
        return counted
    dtype = columns[0].dtype
    if dtype.kind == "f":
        return None if np.isnan(columns[0].min(initial=0.0)) else counted
    return counted if dtype.kind == "i" or (dtype.kind == "u" and dtype.itemsize < 8) else None


def goes_by_lanes(counted: Aggregation, columns: Columns, n: int) -> bool:
    """Tell whether this form is computed by vectors for frames of n rows."""
    few = n < _sba_lanes.FEW and counted.defined is not Aggregation.defined
    return counted.by_lanes and not few and all(x.dtype.kind in "iuf" for x in columns)


def _run_counted(c: _Compiler, op: Aggregation, columns: Columns, n: int, out: np.ndarray, valid: np.ndarray) -> bool:
    """Run without counts in the partials; then once more with them, from the first to the last row in doubt."""
    sba = c.module
    counted = _Compiler(sba, op, partial_dtype(op, columns * 2))
    doubtful = np.array([len(out), 0])
    if goes_by_lanes(op, columns, n):
        counted.module = _sba_lanes
        arrays, none = tuple(map(np.ascontiguousarray, columns)), counted.identity_by_field()
        if n < _sba_lanes.FEW:
            return counted.call(_sba_lanes.run_few, none, arrays, n, out, valid)
        work = map(counted.work_by_field, _sba_lanes.room(n))
        done = counted.call(_sba_lanes.run_counted, *work, none, arrays, n, out, valid, doubtful)
    else:
        done = counted.call(sba.run_counted, counted.work(sba.room(n)), columns, n, out, valid, doubtful)
    if not done:
        return False
    first, end = (int(row) for row in doubtful)
    if first >= end:
        return True
    return _run_again(c, columns, n, first, end, out, valid)


def _run_again(
    c: _Compiler, columns: Columns, n: int, first: int, end: int, out: np.ndarray, valid: np.ndarray
) -> bool:
    """Compute rows first to end - 1 again, with counts in the partials."""
    base = max(0, first - n)
    again, sure = np.zeros(end - base, out.dtype), np.empty(end - base, bool)
    done = c.call(c.module.run_rows, c.work(c.module.room(n)), tuple(x[base:end] for x in columns), n, again, sure)
    out[first:end], valid[first:end] = again[first - base :], sure[first - base :]
    return done


def _run_pba(c: _Compiler, columns: Columns, frames: Frames, out: Any, valid: np.ndarray) -> bool:
    pba = c.module
    if frames.trailing is not None:
        return bool(pba.compute_rows(c.op, c.partial, columns, frames.longest, out, valid))
    bounds = frames.start, frames.end, frames.longest
    return bool(pba.compute_frames(c.op, c.partial, columns, *bounds, out, valid))


def _run_flat_fat(c: _Compiler, columns: Columns, frames: Frames, out: Any, valid: np.ndarray) -> bool:
    tree = c.work(_tree_size(columns))
    if isinstance(frames, Pieces):
        return c.call(c.module.run_pieces, tree, columns, *frames.bounds, out, valid)
    return c.call(c.module.run_frames, tree, columns, frames.start, frames.end, out, valid)


def _tree_size(columns: Columns) -> int:
    return 2 << max(0, len(columns[0]) - 1).bit_length()


_Runner = Callable[[_Compiler, Columns, Frames, Any, np.ndarray], bool]
_RUNNERS: dict[str, _Runner] = {
    "recalculate": _run_fold,
    "sba": _run_sba,
    "pba": _run_pba,
    "flat_fat": _run_flat_fat,
}


# ---- distinct values
def _run_distinct(entry: AlgorithmEntry, of: Aggregation, columns: Columns, frames: Frames) -> Results:
    """Aggregate the different values of each frame: O(log n) per row and frame."""
    column, module = columns[0], entry.module
    following = _find_next_rows(column)
    numbers: tuple[Any, ...]  # of the driver, beside its partials
    if entry.name == "flat_fat":
        partials = _tree_size(columns)
        numbers = following, np.argsort(-frames.start, kind="stable")
    else:
        depth = module.depth_for(frames.longest)
        partials = (depth + 1) * len(column)
        numbers = *module.distinct_keys(following, depth), depth
    op = of.compiled(columns, frames.longest) if column.dtype.kind in "biuf" else None
    if op is not None:
        c = _Compiler(module, op, partial_dtype(op, columns))
        out = np.zeros(len(frames), result_dtype(op, columns, c.partial))
        valid = np.zeros(len(frames), bool)
        work = c.work(partials)
        if c.call(module.run_distinct, work, *numbers, columns, frames.start, frames.end, out, valid):
            return out, valid
    lists = [None] * partials, *(x.tolist() if isinstance(x, np.ndarray) else x for x in numbers)
    bounds = frames.start.tolist(), frames.end.tolist()
    results = _drive(of, functions_of(module), "run_distinct", lists, column.tolist(), *bounds)
    return as_arrays(results, lambda: _type_of_one(of, columns))


def _find_next_rows(column: np.ndarray) -> np.ndarray:
    """Find for each row the next one with the same value, or the number of rows."""
    if column.dtype.kind == "O":
        known: dict[Any, int] = {}
        codes = np.array([known.setdefault(plain(value), len(known)) for value in column], np.int64)
    else:
        codes = np.unique(column, return_inverse=True)[1]
    by_value = np.argsort(codes, kind="stable")
    following = np.full(len(column), len(column))
    again = codes[by_value[1:]] == codes[by_value[:-1]]
    following[by_value[:-1][again]] = by_value[1:][again]
    return following


# ---- interpreted
def _run_interpreted(
    entry: AlgorithmEntry, aggregation: Aggregation, columns: Columns, frames: Frames, asked: Columns
) -> Results:
    questions = list(zip(*(values.tolist() for values in asked), strict=True)) or None
    lists = [c.tolist() for c in columns]
    rows = lists[0] if aggregation.arity == 1 else list(zip(*lists, strict=True))
    start, end = frames.start.tolist(), frames.end.tolist()
    if entry.name == "recalculate":
        results = _drive(aggregation, [fold.run], "run", (), rows, start, end, questions=questions)
    elif entry.name == "flat_fat":
        tree = [None] * _tree_size(columns)
        driver = "run_frames"
        if isinstance(frames, Pieces):
            driver, (start, end) = "run_pieces", ([b.tolist() for b in bounds] for bounds in frames.bounds)
        functions = functions_of(entry.module)
        results = _drive(aggregation, functions, driver, (tree,), rows, start, end, len(frames), questions)
    elif entry.name in ("sba", "pba"):
        work: list[Any] = [None] * max(1, frames.longest)
        work = work if entry.name == "sba" else [work, work.copy()]
        functions = functions_of(entry.module)
        results = _drive(aggregation, functions, "run_frames", (work,), rows, start, end, questions=questions)
    else:
        options = {"capacity": frames.longest + 1} if "capacity" in entry.required else dict(entry.given)
        results = list(run_interpreted(swag_class(entry, aggregation)(**options), rows, start, end, questions))
    return as_arrays(results, lambda: _type_of_one(aggregation, columns))


def _drive(
    aggregation: Aggregation,
    functions: list[Any],
    driver: str,
    work: tuple[Any, ...],
    rows: list[Any],
    start: list[Any],
    end: list[Any],
    count: int | None = None,
    questions: list[tuple[Any, ...]] | None = None,
) -> list[Any]:
    """Run a driver over Python objects, and collect its results; lower itself gives None where there is no result."""
    names = optional_names(aggregation)
    lower = names["lower"]
    if questions is not None:  # drivers lower without an argument: the partials are lowered afterwards
        names["lower"] = lambda partial: partial
    names |= {"zip_columns": lambda x: x, "defined": lambda total: True, "always_defined": False}
    count = len(start) if count is None else count
    out: list[Any] = [aggregation.empty if questions is None else None] * count
    bind(functions, names)[driver](*work, [(row,) for row in rows], start, end, out, [False] * count)
    if questions is None:
        return out
    return [lower(total, *question) for total, question in zip(out, questions, strict=True)]


def _type_of_one(aggregation: Aggregation, columns: Columns) -> np.dtype:
    """Find the type of results where there are none, by a trial on a few rows of numbers; of other columns, objects."""
    if not all(c.dtype.kind in "biuf" for c in columns):
        return np.dtype(object)
    if aggregation.keeps_type:
        return columns[0].dtype
    try:
        result = compute_trial(aggregation, make_trial_rows([c.dtype for c in columns]))
    except Exception:  # whatever a user's functions raise
        return np.dtype(object)
    return np.asarray(result).dtype if isinstance(result, bool | int | float) else np.dtype(object)


def as_arrays(results: list[Any], of_none: Callable[[], np.dtype]) -> Results:
    """Convert Python results to an array of the narrowest fitting type, and tell which are not None."""
    valid = np.array([r is not None for r in results], bool)
    present = {type(r) for r in results if r is not None}
    if not present:
        return np.zeros(len(results), of_none()), valid
    # NumPy makes floats of integers beyond int64, which have fewer digits: those stay Python's.
    beyond = present == {int} and not all(r is None or -(2**63) <= r < 2**63 for r in results)
    if not beyond and (present == {bool} or present <= {int, float}):
        filler = next(iter(present))(0)
        return np.array([filler if r is None else r for r in results]), valid
    out = np.empty(len(results), object)
    for i, result in enumerate(results):  # a slice would take lists apart
        out[i] = result
    return out, valid
