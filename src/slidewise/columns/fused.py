"""Several aggregations of the same columns and frames as one, whose partial is the tuple of theirs.

Equal partials are held once: a sum and a mean add the same numbers, and all variances the same deviations. Results are
those of the aggregations alone, up to the order in which floats are added.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.trial import is_ours, partial_dtype, typed_identity
from slidewise.templates.compile import code_digest

#: Algorithms that run tuples of aggregations; the others are made for one.
ALGORITHMS = ("sba", "two_stacks_lite", "daba_lite", "flat_fat")

#: How many results of a call make it worth while. A new combination of aggregations compiles for about 2 s, once on a
#: machine; in one pass each result takes about 1 ns less.
MANY = 1 << 23

#: How many are joined: ten compile for 1.2 s without the functions that they call, and it grows with their number.
MOST = 12


class FusedForm(NamedTuple):
    """What an aggregation is in a joint one."""

    op: Aggregation
    #: lift takes an anchor, and lower is told the number of rows
    counted: bool = False


class Joint(Aggregation):
    """Aggregations as one; `lower` gives the tuple of their results, and all are always defined."""

    name = "joint"

    #: the functions that joint_rows leaves free
    functions: dict[str, Any]
    #: which of the aggregations it writes row by row, and which from totals that wait
    now: tuple[int, ...] = ()
    later: tuple[int, ...] = ()
    partial: np.dtype
    #: the type of totals that wait
    waiting: np.dtype


def joinable(op: Aggregation, count: int) -> bool:
    """Tell whether an aggregation can be joined over frames of `count` rows each, or over any frames for 0."""
    form = op.counted if count else None
    return op.defined is Aggregation.defined if form is None else bool(form.defined(count))


# ---- columns without NaN
def minds_nan(aggregation: Aggregation) -> bool:
    """Tell whether an aggregation has a faster form for floats without NaN."""
    return bool(aggregation.without_nan)


def of_numbers(aggregation: Aggregation) -> Aggregation:
    """Return the form for floats without NaN, where comparing is one instruction instead of four.

    Max, min, sum, avg and stddev in one pass take 4.4 ns a row instead of 5. Max alone has nothing of it, which waits
    for its last result.
    """
    return aggregation.variant(**aggregation.without_nan) if aggregation.without_nan else aggregation


# ---- the joint form
def joint(ops: Sequence[Aggregation], columns: tuple[np.ndarray, ...], counted: bool) -> Joint:
    """Build the joint form; counted: for frames of which the number of rows is known."""
    if not all(is_ours(op) for op in ops):
        return _build_joint(ops, columns, counted)
    key = tuple(_describe(op) for op in ops), tuple(c.dtype for c in columns), counted
    if key not in _remembered:
        if len(_remembered) >= 256:
            _remembered.clear()
        _remembered[key] = _build_joint(ops, columns, counted)
    return _remembered[key]


#: joint forms of our own aggregations: to make one takes longer than a small array
_remembered: dict[Any, Joint] = {}


def _describe(op: Aggregation | None) -> Any:
    """Describe what tells an aggregation of ours from others."""
    return op and (type(op), op.lift, op.combine, op.lower, op.defined, repr(op.identity), _describe(op.counted))


def _build_joint(ops: Sequence[Aggregation], columns: tuple[np.ndarray, ...], counted: bool) -> Joint:
    forms = [FusedForm(op.counted, True) if counted and op.counted is not None else FusedForm(op) for op in ops]
    partials = [partial_dtype(form.op, columns * (1 + form.counted)) for form in forms]
    slots = [_identify(form, partial) for form, partial in zip(forms, partials, strict=True)]
    distinct = list(dict.fromkeys(slots))
    firsts = [slots.index(slot) for slot in distinct]
    made = Joint()
    made.identity = tuple(value for k in firsts for value in _flatten(typed_identity(forms[k].op, partials[k])))
    fields = [dtype for k in firsts for dtype in _list_fields(partials[k])]
    made.partial = _build_record(fields)
    if counted:  # where the number of rows does not tell whether there is a result, all have one
        made.later = tuple(k for k, form in enumerate(forms) if form.op.defined is not Aggregation.defined)
    made.now = tuple(k for k in range(len(ops)) if k not in made.later)
    parts = sorted({distinct.index(slots[k]) for k in made.later})
    held = [dtype for part in parts for dtype in _list_fields(partials[firsts[part]])] or [np.dtype(np.float64)]
    made.waiting = _build_record(held)
    lowers = tuple((form.op.lower, form.counted, distinct.index(slot)) for form, slot in zip(forms, slots, strict=True))
    made.functions = _build_functions(
        tuple((forms[k].op.lift, forms[k].op.combine, forms[k].counted, len(partials[k].names or ())) for k in firsts),
        lowers,
        made.now,
        made.later,
        tuple(forms[k].op.defined for k in made.later),
        len(columns),
        counted,
        all(is_ours(form.op) for form in forms),
    )
    for name in ("lift", "combine", "lower", "defined"):
        if name in made.functions:
            setattr(made, name, made.functions[name])
    return made


def _identify(form: FusedForm, partial: np.dtype) -> Any:
    """Identify partials by the code that makes them: the same code makes the same of the same rows."""
    functions = form.op.lift, form.op.combine
    code = code_digest(*functions) if is_ours(form.op) else None
    return code or functions, form.counted, str(partial), repr(typed_identity(form.op, partial))


def _flatten(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _list_fields(partial: np.dtype) -> list[np.dtype]:
    return [partial] if partial.names is None else [partial[name] for name in partial.names]


def _build_record(fields: list[np.dtype]) -> np.dtype:
    return np.dtype([(f"f{k}", dtype) for k, dtype in enumerate(fields)])


# ---- the functions of a joint aggregation, as source: kernels have no loops over aggregations
@functools.lru_cache(maxsize=256)
def _build_functions(
    parts: tuple[tuple[Any, Any, bool, int], ...],
    lowers: tuple[tuple[Any, bool, int], ...],
    now: tuple[int, ...],
    later: tuple[int, ...],
    defined: tuple[Any, ...],
    arity: int,
    counted: bool,
    ours: bool,
) -> dict[str, Callable[..., Any]]:
    """Build the functions by name; the same ones for the same parts, so that their digests are remembered."""
    places: list[Any] = []  # the field of each part, or its fields
    at = 0
    for *_, fields in parts:
        places.append(range(at, at + max(1, fields)) if fields else at)
        at += max(1, fields)
    row = ", ".join(f"x{k}" for k in range(arity))
    anchor = ", ".join(f"y{k}" for k in range(arity))

    def take(name: str, place: Any) -> str:
        return f"{name}[{place}]" if isinstance(place, int) else "(" + "".join(f"{name}[{k}], " for k in place) + ")"

    def whole(name: str) -> str:
        """Return the tuple of all fields, from one variable for each part."""
        each = (f"{name}{k}, " if isinstance(p, int) else "".join(f"{name}{k}[{f}], " for f in range(len(p)))
                for k, p in enumerate(places))  # fmt: skip
        return f"({''.join(each)})"

    def result(k: int, name: str, where: list[Any]) -> str:
        _, anchored, part = lowers[k]
        return f"lower{k}({take(name, where[part])}{', count, share' if anchored else ''})"

    lines = [f"def lift({row}, {anchor}):" if counted else f"def lift({row}):"]
    for k, (_, _, anchored, _) in enumerate(parts):
        lines.append(f"    p{k} = lift{k}({row}{', ' + anchor if anchored else ''})")
    lines += [f"    return {whole('p')}", "def combine(a, b):"]
    lines += [f"    q{k} = combine{k}({take('a', place)}, {take('b', place)})" for k, place in enumerate(places)]
    lines += [f"    return {whole('q')}"]
    if counted:
        lines += ["def write(results, i, total, count, share):"]
        lines += [f"    results[{j}][i] = {result(k, 'total', places)}" for j, k in enumerate(now)] or ["    pass"]
    else:
        lines += ["def lower(total):"]
        lines += [f"    return ({''.join(result(k, 'total', places) + ', ' for k in now)})"]
    if counted:
        held: list[int] = []
        kept = list(places)
        for part in sorted({lowers[k][2] for k in later}):
            size = len(held)
            held += [places[part]] if isinstance(places[part], int) else list(places[part])
            kept[part] = size if isinstance(places[part], int) else range(size, len(held))
        lines += ["def postpone(total):", f"    return {take('total', held) if held else '(0.0,)'}"]
        lines += ["def write_postponed(results, begin, end, waiting, count, share):", "    doubt = False"]
        for j, k in enumerate(later):  # one loop for each, over plain slices: vector instructions
            lines += [
                f"    r{j} = results[{j}][begin:end]",
                f"    for k in range(len(r{j})):",
                "        part = waiting[k]",
            ]
            lines += [f"        r{j}[k] = {result(k, 'part', kept)}"]
            lines += [f"    for k in range(len(r{j})):", f"        doubt |= r{j}[k] != r{j}[k]"]
        lines += ["    return doubt", "def write_one(results, i, part, count, share):", "    doubt = False"]
        for j, k in enumerate(later):
            lines += [
                f"    r{j} = {result(k, 'part', kept)}",
                f"    results[{j}][i] = r{j}",
                f"    doubt |= r{j} != r{j}",
            ]
        lines += ["    return doubt"]
    if later:
        lines += ["def defined(count):", f"    return {' and '.join(f'defined{j}(count)' for j in range(len(later)))}"]
    namespace: dict[str, Any] = {"__name__": __name__ if ours else "joint"}
    for k, (lift, combine, *_) in enumerate(parts):
        namespace |= {f"lift{k}": lift, f"combine{k}": combine}
    namespace |= {f"lower{k}": lower for k, (lower, *_) in enumerate(lowers)}
    namespace |= {f"defined{j}": function for j, function in enumerate(defined)}
    exec("\n".join(lines), namespace)
    names = ("lift", "combine", "lower", "defined", "write", "postpone", "write_postponed", "write_one")
    return {name: namespace[name] for name in names if name in namespace}
