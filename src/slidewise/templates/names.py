"""The free names of algorithm templates.

An algorithm is written once, as plain functions over a state `s` with these names left free. `bind` clones the
functions for one aggregation and gives the names their meaning: over Python objects when interpreted, over arrays when
compiled by numba. A template imports from here what it uses; calling one of these unbound is a mistake.
"""

from __future__ import annotations

from typing import Any


class Unbound(RuntimeError):
    """A template was called without having been bound to an aggregation."""


# ---- the aggregation
identity: Any = None
commutative: bool = False
#: whether combine returns one of its operands; a constant, so that compiled code has only the branch it needs
selective: bool = False


def lift(*row: Any) -> Any:
    """One row as a partial."""
    raise Unbound("lift")


def combine(older: Any, newer: Any) -> Any:
    """Two neighbouring partials as one, the older first."""
    raise Unbound("combine")


def inverse(total: Any, oldest: Any) -> Any:
    """Take the oldest operand out of the total."""
    raise Unbound("inverse")


def lower(partial: Any, *count: Any) -> Any:
    """Compute the result of a frame; where its number of rows is known, with that number and its reciprocal."""
    raise Unbound("lower")


def defined(partial: Any) -> bool:
    """Tell whether the frame has a result other than null."""
    raise Unbound("defined")


#: Whether defined() holds of every partial, a constant: a kernel then fills `valid` at once, not row by row.
always_defined: bool = False


def same(a: Any, b: Any) -> bool:
    """Tell whether two partials are the same one: for selective aggregations, whether combine chose b."""
    raise Unbound("same")


# ---- partials in parts (see aggregations/partial_parts.py)
def take_out(total: Any, oldest: Any) -> Any:
    """Subtract the sums of the oldest partial from the total."""
    raise Unbound("take_out")


def below(older: Any, newer: Any) -> bool:
    """Tell whether the newer partial has the smaller minimum."""
    raise Unbound("below")


def above(older: Any, newer: Any) -> bool:
    """Tell whether the newer partial has the larger maximum."""
    raise Unbound("above")


def assemble(total: Any, low: Any, high: Any) -> Any:
    """Put the minimum of one partial and the maximum of another beside the sums of the total."""
    raise Unbound("assemble")


# ---- several aggregations at once (see columns/fused.py)
def write(results: Any, i: Any, total: Any, count: float, share: float) -> None:
    """Write the results that are lowered row by row."""
    raise Unbound("write")


def postpone(total: Any) -> Any:
    """Take the part of a total that other results are lowered from."""
    raise Unbound("postpone")


def write_postponed(results: Any, begin: int, end: int, waiting: Any, count: float, share: float) -> bool:
    """Write those results of some rows; whether one of them is NaN."""
    raise Unbound("write_postponed")


def write_one(results: Any, i: Any, part: Any, count: float, share: float) -> bool:
    """Do the same for one row."""
    raise Unbound("write_one")


# ---- queues, addressed by positions that never change (see storage.py)
def at(queue: Any, i: int) -> Any:
    """Read the element at position i. O(1)."""
    raise Unbound("at")


def put(queue: Any, i: int, value: Any) -> None:
    """Replace the element at position i. O(1)."""
    raise Unbound("put")


def append(queue: Any, i: int, value: Any) -> None:
    """Add an element at position i, the end of the queue. O(1), and nothing moves."""
    raise Unbound("append")


def drop(queue: Any, i: int) -> None:
    """Forget the element at position i, the front of the queue. O(1)."""
    raise Unbound("drop")


# ---- flat arrays
def grow(array: Any, size: int) -> None:
    """Make room for `size` elements. Compiled state has its full capacity from the start: there it is an error."""
    raise Unbound("grow")


def shrink(array: Any, size: int) -> None:
    """Give up what is beyond `size` elements. Compiled state keeps its capacity."""
    raise Unbound("shrink")


# ---- drivers
insert: Any = None
evict: Any = None
query: Any = None


def open_state(state: Any) -> Any:
    """Turn the state tuple into a mutable struct."""
    raise Unbound("open_state")


#: the fields of a state in a block of memory, and what they are
layout: str = ""


def open_block(address: int, layout: str, identity: Any, moment: Any) -> Any:
    """Open the state at an address, in place; the types of partials and times are those of the last two."""
    raise Unbound("open_block")


def takes(s: Any, value: Any) -> bool:
    """Tell whether compiled code holds this value, among those of the state, as Python does."""
    raise Unbound("takes")


def position(n: int, fraction: float) -> tuple[int, float]:
    """Choose one of n sorted values: its rank from 0, and the share of the way to the next."""
    raise Unbound("position")


def finish(ranks: Any, k: int, share: float) -> Any:
    """Compute the result at a rank, and so far from there to the next."""
    raise Unbound("finish")


def close_state(s: Any) -> Any:
    """Turn the struct into a state tuple again."""
    raise Unbound("close_state")


def zip_columns(columns: Any) -> Any:
    """Columns, or an array of records, indexed as tuples."""
    raise Unbound("zip_columns")


def prefetch(columns: Any, i: Any) -> None:
    """Have row i of zipped columns brought into the cache. i may be beyond the last row, and is unsigned."""
    raise Unbound("prefetch")


# ---- vectors: the partials of neighbouring rows as one value (see templates/lanes.py)
#: how many rows a vector has; 1 where kernels run as plain Python
lanes: int = 1


def pin_columns(x: Any) -> Any:
    """Columns indexed as tuples, or an array, for vectors; it has no length, and takes no negative index."""
    raise Unbound("pin_columns")


def load_lanes(x: Any, i: Any) -> Any:
    """Read rows i to i + lanes - 1 of pinned columns."""
    raise Unbound("load_lanes")


def widen(partial: Any, like: Any) -> Any:
    """Convert lanes to the types that one partial has: those of narrow columns are wider."""
    raise Unbound("widen")


def store_lanes(x: Any, i: Any, partial: Any) -> None:
    """Write rows i to i + lanes - 1 of pinned columns."""
    raise Unbound("store_lanes")


def fetch(x: Any, i: Any, to_write: int) -> None:
    """Have row i of pinned columns brought into the cache, to be written where `to_write` is 1."""
    raise Unbound("fetch")


def spread(partial: Any) -> Any:
    """Put one partial into all lanes."""
    raise Unbound("spread")


def spread_lane(partial: Any, lane: int) -> Any:
    """Put the partial of one lane into all of them; lane -1 is the last."""
    raise Unbound("spread_lane")


def first_lane(partial: Any) -> Any:
    """Take the partial of the first lane."""
    raise Unbound("first_lane")


def shift(partial: Any, by: int, others: Any) -> Any:
    """Move partials to later lanes, and into the first ones the last of the vector before; where `by` is negative to
    earlier lanes, and into the last ones the first of the vector after."""
    raise Unbound("shift")


# ---- two threads that share a state's arrays
def publish(signals: Any, i: int, value: int) -> None:
    """Write signals[i] after all that was written before: who observes it sees that too."""
    raise Unbound("publish")


def observe(signals: Any, i: int) -> int:
    """Read signals[i] before all that is read after."""
    raise Unbound("observe")


def relax(spins: int) -> None:
    """Do nothing for a moment, in a loop that waits; `spins` is how often it has been around."""
    raise Unbound("relax")


# ---- the types of state fields, beside int
class Partial:
    """One partial; starts as the identity."""


class Queue:
    """Many partials, addressed by position in the stream."""


class IntQueue:
    """Many integers, addressed by position in the stream."""


class Array:
    """Many partials in a flat array."""


class IntArray:
    """Many integers in a flat array."""


class Moment:
    """One time, or a length of time."""


class Moments:
    """The times of rows, addressed by position in the stream."""


class Sorted:
    """Many values in a flat array, in order."""
