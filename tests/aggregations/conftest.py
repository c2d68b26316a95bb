"""Folding rows with an aggregation's own functions, interpreted and compiled, without any algorithm."""

import functools
import inspect
import types

import pytest


def _fold(aggregation, rows, *argument):
    """The result of a frame, by the rules of the running layer: nulls, empty frames, undefined results."""
    rows = [row if isinstance(row, tuple) and aggregation.arity > 1 else (row,) for row in rows]
    if aggregation.nulls != "keep":
        needed = range(aggregation.arity) if aggregation.nulls == "skip" else aggregation.nulls
        rows = [row for row in rows if all(row[i] is not None for i in needed)]
    if not rows:
        return aggregation.empty
    partial = functools.reduce(aggregation.combine, [aggregation.lift(*row) for row in rows])
    return aggregation.lower(partial, *argument) if aggregation.defined(partial) else None


def _jitted(function, done):
    """The function for numba, with the helpers it names."""
    import numba

    if function not in done:
        names = dict(function.__globals__)
        for name in function.__code__.co_names:
            if inspect.isfunction(names.get(name)):
                names[name] = _jitted(names[name], done)
        clone = types.FunctionType(
            function.__code__, names, function.__name__, function.__defaults__, function.__closure__
        )
        done[function] = numba.njit(clone)
    return done[function]


def _compiled_fold(aggregation, columns, longest=None):
    """The same by numba, from the identity and to it; "interpreted" where there is no such form."""
    variant = aggregation.compiled(columns, longest or len(columns[0]))
    if variant is None:
        return "interpreted"
    key = (repr(aggregation), repr(variant.identity), tuple(c.dtype for c in columns))
    if key not in _RUNNERS:
        _RUNNERS[key] = _runner(variant, columns)
    has_result, result = _RUNNERS[key](columns, len(columns[0]))
    return result if has_result else None


_RUNNERS = {}


def _runner(variant, columns):
    import numba

    done = {}
    lift, combine, lower, defined = (
        _jitted(f, done) for f in (variant.lift, variant.combine, variant.lower, variant.defined)
    )
    identity = variant.identity
    if not isinstance(identity, tuple):
        identity = variant.identity_for(columns[0].dtype)
    row = ", ".join(f"columns[{i}][i]" for i in range(len(columns)))
    source = f"""
def run(columns, n):
    total = combine(identity, lift({row.replace("[i]", "[0]")}))
    for i in range(1, n):
        total = combine(total, lift({row}))
    total = combine(total, identity)
    if defined(total):
        return True, lower(total)
    return False, lower(total)
"""
    names = {"lift": lift, "combine": combine, "lower": lower, "defined": defined, "identity": identity}
    exec(source, names)
    return numba.njit(names["run"], error_model="numpy")


@pytest.fixture
def fold():
    return _fold


@pytest.fixture
def compiled_fold():
    import numba

    if numba.config.DISABLE_JIT:
        pytest.skip("numba is switched off: NumPy's scalars widen and wrap by other rules")
    return _compiled_fold
