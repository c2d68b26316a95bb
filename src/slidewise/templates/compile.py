"""The compiled form: a kernel per driver, algorithm, aggregation and types, made by numba on first use.

One kernel has one signature and one cache file, named by the digest of all that it is made of. A second process loads
it in milliseconds and compiles nothing, for aggregations from any module, a notebook, or a Spark worker.
"""

from __future__ import annotations

import functools
import itertools
import threading
import types
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.code_digest import Undigestible, global_names, is_dispatcher
from slidewise.aggregations.partial_parts import write_out_parts
from slidewise.aggregations.trial import are_ours, typed_identity
from slidewise.fallback import warn_of_fallback
from slidewise.templates import cache, ring, storage
from slidewise.templates.bind import bind, functions_of
from slidewise.templates.digest import digest
from slidewise.templates.interpret import state_fields
from slidewise.templates.names import Array, IntArray, IntQueue, Partial, Queue

_kernels: dict[tuple[Any, ...], Any] = {}
_lock = threading.Lock()
#: numbers for kernels that a digest does not tell apart; an id would come again once its object is gone
_serial = itertools.count(1)


# ---- state as arrays
def new_state(module: types.ModuleType, op: Aggregation, partial: np.dtype, capacity: int, **options: Any) -> Any:
    """Make a compiled state with room for `capacity` values."""
    capacity = 1 << max(4, (int(capacity) - 1).bit_length())
    sizes = module.sizes(capacity) if hasattr(module, "sizes") else {}
    identity = typed_identity(op, partial)
    s = types.SimpleNamespace()
    for name, kind in state_fields(module).items():
        size = sizes.get(name, capacity)
        if kind in (Queue, Array):
            value: Any = np.zeros(size, partial)
        elif kind in (IntQueue, IntArray):
            value = np.zeros(size, np.int64)
        else:
            value = identity if kind is Partial else 0
        setattr(s, name, value)
    if hasattr(module, "setup_compiled"):
        module.setup_compiled(s, identity, capacity, **options)
    return module.State(**vars(s))


# ---- kernels
def kernel(
    driver: Callable[..., Any],
    module: types.ModuleType | None,
    op: Aggregation,
    partial: np.dtype,
    args: tuple[Any, ...],
    more: Mapping[str, types.FunctionType] | None = None,
    layout: str = "",
) -> Any:
    """`driver` for one algorithm, aggregation and set of argument types; None where numba cannot compile it.

    `more` are the functions of a joint aggregation (columns/fused.py), in place of its own or beside them. Where it
    cannot be compiled there is no warning: its parts run alone, and have their own. `layout` is that of a state in a
    block of memory; a kernel of one event does not let go of the interpreter's lock.
    """
    more = more or {}
    parts = (op.lift, op.combine, op.lower, op.defined, op.inverse, op.selective, op.commutative, *more.values())
    parts += op.partial_parts
    code = _code_of(driver, module, parts, f"({typed_identity(op, partial)!r}, {_shown(partial)}){layout}")
    who = (driver.__module__, driver.__name__, module and module.__name__, op.name, _type_key(args))
    with _lock:
        key = (*who, code)
        if key not in _kernels:
            functions = functions_of(module) if module else []
            _kernels[key] = _build(driver, functions, op, partial, args, who, code, more, layout)
        found = _kernels[key]
    if not isinstance(found, _Failure):
        return found
    if not more:
        warn_of_fallback(type(op), op.name, f"since numba cannot compile it: {found}")
    return None


class _Failure(str):
    """Why there is no kernel."""


class Code(NamedTuple):
    """What tells the code of kernels apart."""

    digest: str
    #: what has no digest: kernels are kept in this process only, and are good for these very objects
    unknown: tuple[Same, ...] = ()


class Same:
    """An object that equals itself alone; it lives as long as this does."""

    def __init__(self, it: Any) -> None:
        self.it = it

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.it is other.it

    def __hash__(self) -> int:
        return hash(type(self.it))


def _code_of(
    driver: Callable[..., Any], module: types.ModuleType | None, parts: tuple[Any, ...], constants: str
) -> Code:
    """Collect what a kernel is made from.

    Ours is remembered, since digesting takes longer than a small array; a user's functions are digested at every call,
    since what they read may have changed: a global, or an attribute of a module.
    """
    return (_our_kernel_code if are_ours(*parts) else _kernel_code)(driver, module, parts, constants)


def _kernel_code(
    driver: Callable[..., Any], module: types.ModuleType | None, parts: tuple[Any, ...], constants: str
) -> Code:
    unknown: list[Any] = []
    code = digest(_template_digest(driver, module), digest(*parts, unknown=unknown), constants)
    return Code(code, tuple(map(Same, unknown)))


def _digest(*things: Any) -> str | None:
    try:
        return digest(*things)
    except Undigestible:
        return None


_our_kernel_code = functools.lru_cache(maxsize=1024)(_kernel_code)
#: the digest of our own functions, or None
code_digest = functools.lru_cache(maxsize=1024)(_digest)


@functools.cache
def _template_digest(driver: Callable[..., Any], module: types.ModuleType | None) -> str:
    return digest(driver, *(functions_of(module) if module else ()))


def _build(
    driver: Any,
    functions: list[types.FunctionType],
    op: Aggregation,
    partial: np.dtype,
    args: tuple[Any, ...],
    who: tuple[Any, ...],
    code: Code,
    more: Mapping[str, types.FunctionType],
    layout: str,
) -> Any:
    import numba

    # Two kernels whose helpers have equal names would mix up their machine code: every clone has the whole tag.
    tag = "_" + "_".join(
        str(part).rpartition(".")[2] for part in (*who, code.digest, code.unknown and next(_serial)) if part
    )
    clones: dict[Any, Any] = {}
    names = {n: _jitable(getattr(op, n), tag, clones) for n in ("lift", "combine", "lower", "defined", "inverse")}
    names |= {n: _jitable(f, tag, clones) for n, f in write_out_parts(op.partial_parts).items()}
    names["identity"] = typed_identity(op, partial)
    names["always_defined"] = op.defined is Aggregation.defined
    names["selective"] = op.selective
    names["commutative"] = op.commutative
    queue = {"at": ring.at, "put": ring.put, "append": ring.put, "drop": ring.drop}
    flat = {"grow": storage.refuse_growth, "shrink": storage.keep_size}
    names |= {n: _jitable(f, tag, clones) for n, f in {**queue, **flat, **more}.items()}
    names |= _struct_names()
    if layout:
        from slidewise.templates.blocks import open_block

        names |= {"layout": layout, "open_block": open_block}
    if functions:
        namespace = bind(functions, names, tag, _register)
        names |= {f.__name__: namespace[f.__name__] for f in functions}
    if cache.is_compiler_off():
        # Compiled integers wrap and floats overflow without a word: so do those of NumPy then.
        return np.errstate(all="ignore")(bind([driver], names, tag)[driver.__name__])
    signature = tuple(numba.typeof(a) for a in args)
    attempts = ([] if code.unknown else [cache.cached_njit]) + [numba.njit]
    for make in attempts:
        compiled = bind([driver], names, tag, functools.partial(make, nogil=not layout))[driver.__name__]
        try:  # only compiling may fail here, never running; what numba raises is not always its own error
            compiled.compile(signature)
        except Exception as error:
            reason = _first_reason(error)
            _forget_frames(error)
        else:
            if make is cache.cached_njit and not compiled.stats.cache_hits:
                cache.prune(compiled.stats.cache_path)
            return compiled
    return _Failure(reason)


def _first_reason(error: Exception) -> str:
    """numba opens with the step that failed; the line after it says why."""
    lines = [line for line in str(error).splitlines() if line.strip() and not line.startswith("Failed in")]
    return lines[0] if lines else repr(error)


def _forget_frames(error: BaseException | None) -> None:
    """Let go of the callers' frames: numba keeps the error of a failed compilation, and so the rows of a call."""
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        seen.append(error)
        error.__traceback__ = None
        error = error.__cause__ or error.__context__


def _register(function: Any) -> Any:
    from numba.extending import register_jitable

    return register_jitable(no_cfunc_wrapper=True, **cache.choose_linking())(function)


def _struct_names() -> dict[str, Any]:
    if cache.is_compiler_off():
        from slidewise.templates import uncompiled as structs
        from slidewise.templates import uncompiled as vectors
    else:
        from slidewise.templates import lanes as vectors  # type: ignore[no-redef]
        from slidewise.templates import structs  # type: ignore[no-redef]
    return {n: getattr(structs, n) for n in _OF_STRUCTS} | {n: getattr(vectors, n) for n in _OF_LANES}


_OF_STRUCTS = ("open_state", "close_state", "prefetch", "zip_columns", "same", "publish", "observe", "relax")
_OF_LANES = (
    *("lanes", "pin_columns", "load_lanes", "store_lanes", "fetch"),
    *("widen", "spread", "spread_lane", "first_lane", "shift"),
)


def _jitable(function: Any, tag: str, clones: dict[Any, Any]) -> Any:
    """Clone a function for kernels, with those that it calls; the user's own @njit as well, since numba keeps the
    globals that it first compiled them with."""
    plain = function.py_func if is_dispatcher(function) else function
    if not isinstance(plain, types.FunctionType) or _is_extension(function):
        return function
    if function not in clones:
        clones[function] = None  # numba resolves a function's call of itself
        called = {n: plain.__globals__.get(n) for n in global_names(plain.__code__)}
        names = {
            n: _jitable(f, tag, clones)
            for n, f in called.items()
            if (isinstance(f, types.FunctionType) or is_dispatcher(f)) and f is not function and not _is_extension(f)
        }
        again = _register if plain is function else functools.partial(_jitted_as, function)
        clones[function] = bind([plain], names, tag, again)[plain.__name__]
    return clones[function]


def _is_extension(function: Any) -> bool:
    """Tell whether numba is told elsewhere what this means to it."""
    return hasattr(function, "_intrinsic_")


def _jitted_as(dispatcher: Any, function: Any) -> Any:
    """Compile a function by the options, and for the signatures, of the user's own @njit."""
    import numba

    signatures = None if dispatcher._can_compile else dispatcher.nopython_signatures
    return numba.jit(signatures, **dispatcher.targetoptions)(function)


def _type_key(a: Any) -> str:
    """Everything that numba's signature distinguishes, in letters that every file system takes."""
    if isinstance(a, tuple):
        return "".join(map(_type_key, a))
    if isinstance(a, np.ndarray):
        dtype = f"{a.dtype.kind}{a.dtype.itemsize}" if a.dtype.fields is None else _record_key(a.dtype)
        return dtype + "r" * (not a.flags.writeable) + "A" * (not a.flags.c_contiguous)
    return type(a).__name__[0]


#: how a type prints, which takes longer for records than a small array
_shown = functools.cache(repr)


@functools.cache
def _record_key(dtype: np.dtype) -> str:
    return "R" + digest(str(dtype.descr))[:6]
