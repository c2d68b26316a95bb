"""SBA: the boundary aggregator of PBA, run by one thread (Efficient Incremental Computation of Aggregations
over Sliding Windows, section 4).

The stream is cut into slices of `slide` values where windows start (Cutty), and the slices into chunks of c,
with boundaries between them. Windows start at multiples of the slide: one of range 10 and slide 3 is three
slices and the first value of the next. Invariant, as what the slot of slice i holds, until the slice is
evicted:

    in a complete chunk    the product of slices i to the chunk's end: its left-cumulative partials
    in the newest chunk    the product of the slice's values

with `running` the product of the newest chunk's complete slices. A window is the left-cumulative partial of
its first slice, the first ones of the chunks in between (at most one with the default c), the running
partial, and the open slice. For a slide of 1 that is at most 3 combines per slide, and c - 2 more where a
chunk is complete. Nothing is ever taken out of a partial. At most 3c + 2 partials are held.

Over columns this is two cumulative passes and one merge, all sequential in memory: the fastest of all
algorithms where the range is fixed, for every associative aggregation.
"""

import operator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from slidewise.errors import InvalidInput, Refused
from slidewise.templates.checking import agree, fold
from slidewise.templates.names import (
    Array,
    Partial,
    always_defined,
    combine,
    defined,
    grow,
    identity,
    lift,
    lower,
    prefetch,
    zip_columns,
)

if TYPE_CHECKING:
    from slidewise.templates.interpret import Swag as Base
else:
    Base = object


# ---- the size of chunks
def optimal_chunk_size(range: int, slide: int) -> int:
    """Compute the chunk size, in slices, at which PBA never waits for its second thread: count-based windows (theorem
    1).

    >>> optimal_chunk_size(10, 2), optimal_chunk_size(1000, 1), optimal_chunk_size(10, 5)
    (4, 501, 2)
    """
    slices, rest = divmod(range, slide)
    if slices <= slide + rest + 1:
        return slices
    return (slide * (slices + 1) + rest + 1) // (slide + 1)


def optimal_chunk_size_time(
    range: float, slide: float, combine_time: float, *, reading: Literal["derived", "printed"] = "derived"
) -> int:
    """Compute the same for time-based windows (theorem 2): all three in one unit, such as nanoseconds.

    >>> optimal_chunk_size_time(3600, 60, combine_time=1), optimal_chunk_size_time(1000, 1, combine_time=1)
    (60, 667)

    The left-cumulative pass over a chunk of c slices takes c - 2 combines. It has to be done when the first window
    ends that begins within the chunk: (d + 1 - c) slides after the boundary, in which the main thread makes d - c
    combines, d = range // slide. Where the slide does not divide the range, the window ends later, by the rest and
    the combine that adds it: `range % slide + combine_time`, as in theorem 1. That is the reading "derived". The
    paper prints `slide * (range % slide) + combine_time`, a product of two times, so that the chunk depends on the
    unit: this is the reading "printed".

    >>> [optimal_chunk_size_time(1000, 3, 0.05, reading=r) for r in ("derived", "printed")]
    [328, 329]
    >>> [optimal_chunk_size_time(10_000, 30, 0.5, reading=r) for r in ("derived", "printed")]  # tenths of the unit
    [328, 333]
    """
    if reading not in ("derived", "printed"):
        raise InvalidInput(f'theorem 2 has two readings, "derived" and "printed", got reading={reading!r}')
    slices, rest = divmod(range, slide)
    longer = rest if reading == "derived" else slide * rest
    more = slide + 2 * combine_time + (longer + combine_time if rest else 0)
    if slices * combine_time <= more:
        return int(slices)
    return int((slices * (slide + combine_time) + more) // (slide + 2 * combine_time))


# ---- event by event
class State(NamedTuple):
    range: int
    slide: int
    chunk: int
    #: values that came and values that went, since the start
    inserted: int
    evicted: int
    running: Partial
    slices: Array


def setup(s, range=None, slide=1, chunk=None):
    s.range = require_count("range", range, 1)
    s.slide = require_count("slide", slide, 1, s.range, "the range")
    slices, rest = divmod(s.range, s.slide)
    s.chunk = optimal_chunk_size(s.range, s.slide) if chunk is None else chunk
    require_count("chunk", s.chunk, 1, slices, "the number of slices in a window")
    # A window may be a slide longer than its range for a moment, and begin and end within a slice.
    most = slices + 1 + -(-(rest + s.slide - 1) // s.slide)
    grow(s.slices, s.chunk * (1 + -(-(most - 1) // s.chunk)))


def require_count(name, value, least, most=None, limit=""):
    """Check an integer; refused where it is none, or outside its bounds."""
    try:
        count = operator.index(value)
    except TypeError:
        count = least - 1
    if count < least or (most is not None and count > most):
        upper = f" to {most}, {limit}" if most is not None else " on"
        raise InvalidInput(
            f"a boundary aggregator has a fixed {name}, an integer from {least}{upper}; got {value!r}. "
            "Give it at the start, as in swag('sba', ..., range=10, slide=2)"
        )
    return count


def insert(s, v):
    """1 combine; where a chunk is complete, c - 2 more."""
    if s.inserted - s.evicted == s.range + s.slide:
        raise Refused("insert: the window is longer than its range by a whole slide. Evict its oldest values first")
    slot = s.inserted // s.slide % len(s.slices)
    s.slices[slot] = combine(s.slices[slot], v) if s.inserted % s.slide else v
    s.inserted += 1
    if s.inserted % s.slide == 0:
        s.running = combine(s.running, s.slices[slot])
        if (slot + 1) % s.chunk == 0:
            close_chunk(s, slot + 1)


def close_chunk(s, end):
    """Cross a boundary: the slices of the chunk that ends before slot `end` become left-cumulative partials."""
    base = end - s.chunk
    gone = max(0, s.evicted // s.slide - (s.inserted // s.slide - s.chunk))
    if gone == 0:
        s.slices[base] = s.running
    s.running = identity
    cumulate(s, base + max(1, gone), end)


def cumulate(s, first, end):
    """Compute the left-cumulative partials of slots first to end - 1: one combine less than slots."""
    cumulate_slots(s.slices, first, end)


def cumulate_slots(slices, first, end):
    for slot in range(end - 2, first - 1, -1):
        slices[slot] = combine(slices[slot], slices[slot + 1])


def settle(s, slot):
    """Before a left-cumulative partial is read or dropped: here it is always there, PBA may have to wait."""


def evict(s):
    """No combine."""
    s.evicted += 1
    if s.evicted % s.slide == 0:
        slot = (s.evicted // s.slide - 1) % len(s.slices)
        settle(s, slot)
        s.slices[slot] = identity


def query(s):
    """At most 2 combines with the default c, and 1 more where the slide does not divide the range."""
    first = s.evicted // s.slide
    newest = s.inserted // s.slide // s.chunk
    total = identity
    if first < newest * s.chunk:
        slot = first % len(s.slices)
        settle(s, slot)
        total = s.slices[slot]
        for chunk in range(first // s.chunk + 1, newest):
            total = combine(total, s.slices[chunk * s.chunk % len(s.slices)])
    total = combine(total, s.running)
    if s.inserted % s.slide:
        total = combine(total, s.slices[s.inserted // s.slide % len(s.slices)])
    return total


def size(s):
    return s.inserted - s.evicted


def sound(s):
    new = type(s)(**s._options)
    fixed = (s.range, s.slide, s.chunk, len(s.slices)) == (new.range, new.slide, new.chunk, len(new.slices))
    return fixed and 0 <= s.evicted <= s.inserted <= s.evicted + s.range + s.slide


def check(s, partials):
    assert sound(s)
    first, last = s.evicted // s.slide, -(-s.inserted // s.slide)  # the slices held: first to last - 1
    newest = s.inserted // s.slide // s.chunk * s.chunk  # the first slice of the newest chunk
    assert last - first <= len(s.slices)
    held = {i % len(s.slices) for i in range(first, last)}
    for slot in range(len(s.slices)):
        settle(s, slot)
        assert slot in held or s.slices[slot] is None
    if partials is None:
        return

    def product(begin, end):  # of the values of slices begin to end - 1
        return fold(combine, partials[begin * s.slide - s.evicted : end * s.slide - s.evicted])

    for i in range(-(-s.evicted // s.slide), last):  # slices of which no value has been evicted
        end = i + s.chunk - i % s.chunk if i < newest else i + 1
        assert agree(s.slices[i % len(s.slices)], product(i, end))
    if s.evicted <= newest * s.slide:
        assert agree(s.running, product(newest, s.inserted // s.slide))


class FixedWindow(Base):
    """query() for structures that know only windows of their range that start at multiples of their slide."""

    __slots__ = ()
    if TYPE_CHECKING:
        range: int
        slide: int
        evicted: int

    def query(self, *argument: Any) -> Any:
        """Aggregate a full window, or one that is filling up for the first time."""
        held, evicted = len(self), self.evicted
        if (held == self.range and evicted % self.slide == 0) or (held < self.range and evicted == 0):
            return self.functions["lower"](self.functions["query"](self), *argument)
        raise InvalidInput(
            f"query: {self.entry.name} knows windows of its fixed range, {self.range} values, that start at "
            f"multiples of its slide, {self.slide}; this one has {held} values and starts after {evicted}. "
            "Insert and evict whole slides before a query, or use daba_lite, which takes any sequence"
        )


MIXINS = (FixedWindow,)


# ---- over columns: drivers, each compiled for one aggregation. Indices are made unsigned, since numba tests
# signed ones for being negative: 1.3 ns per row against 1.7.
#: more trailing rows than this go by _sba_blocks.py: what is kept of them leaves the cache
MOST_ROWS = 1 << 17


def room(n):
    """Count the partials in the work array of drivers for trailing rows."""
    return 2 * max(1, n) + 2 + 2 * BLOCK


def run_rows(work, values, n, out, valid):
    """out[i] is the result of row i and the n - 1 rows before it, fewer at the start; work: room(n) partials.

    3 combines per row. A chunk has n rows: the frame of its row j is the last chunk from row j + 1 on, and
    this one up to row j. The backward pass over this chunk runs in the same loop as the forward pass, since
    each of them waits for its own last result: for a sum and n = 2^14, 1.3 ns per row, against 2.3 for one
    pass after the other and 1.8 with two chunks at once in one loop.
    """
    values = zip_columns(values)
    left = zip_columns(work)
    results = zip_columns(out)
    rows = len(values)
    n = max(1, min(n, rows))
    last, this = 0, n + 1  # where the left-cumulative partials of the last chunk and of this one begin
    for j in range(n + 1):
        left[j] = identity  # there is nothing before the first chunk,
    left[2 * n + 1] = identity  # and nothing of the last chunk in the frame of a chunk's last row
    if always_defined:
        valid[:] = True
    for first in range(0, rows, n):
        right = identity
        back = identity
        stop = min(n, rows - first)
        for j in range(stop):
            i = np.uintp(first + j)
            prefetch(values, np.uintp(i + n))
            right = combine(right, lift(*values[i]))
            total = combine(left[np.uintp(last + j + 1)], right)
            emit(results, valid, i, total)
            k = stop - 1 - j
            back = combine(lift(*values[np.uintp(first + k)]), back)
            left[np.uintp(this + k)] = back
        last, this = this, last


def emit(results, valid, i, total):
    """One result. Where every partial has one, the caller has filled `valid` at once, and not row by row."""
    if not always_defined:
        valid[i] = defined(total)
    if always_defined or valid[i]:
        results[i] = lower(total)


#: rows whose totals are lowered at once; even
BLOCK = 512


def run_counted(work, values, n, out, valid, doubtful):
    """As run_rows, for aggregations with a `counted` form: partials are sums, and rows are not counted in them.

    lift(*row, *anchor) may take its row relative to an anchor, the first row of the chunk in which the frame ends,
    and so a row of the frame; lower(partial, count, 1 / count) and defined(count) are told the number of rows.
    Where not every count has a result, doubtful[0] to doubtful[1] - 1 are the rows among which results are NaN: the
    anchor was unfit, and run_rows has to do these rows.

    4 combines per row, two rows at a time: the sum of a pair is added to the running one, so that rows wait for
    each other half as long (a sum: 0.8 ns a row against 1.1). Totals of the moments wait until there is a block
    of them, and are lowered by vector instructions: a standard deviation takes 2.7 ns, and 3.7 row by row; a sum
    1.2, and 0.8 row by row.
    """
    values = zip_columns(values)
    left = zip_columns(work[2 * BLOCK :])
    waiting = zip_columns(work[: 2 * BLOCK])
    rows = len(values)
    n = max(1, min(n, rows))
    last, this = 0, n + 1  # as in run_rows
    left[n] = identity
    left[2 * n + 1] = identity
    one = np.uintp(1)
    fill_up(left, values, n, out, valid, doubtful)
    valid[n:] = defined(n)
    if not defined(n):
        return
    count, share = float(n), 1.0 / n
    step = n if always_defined else BLOCK
    done = n  # the first row whose total waits
    for first in range(n, rows, n):
        anchor = values[first]
        next_anchor = values[min(first + n, rows - 1)]
        right = identity
        back = identity
        stop = min(n, rows - first)
        begin = 0
        while begin < stop:  # a range with a step divides, which tells in short chunks
            end = min(stop, begin + step)
            for j in range(begin, end - 1, 2):
                prefetch(values, np.uintp(first + n + j))
                i, slot = np.uintp(first + j), np.uintp(last + j + 1)
                p, q = lift(*(values[i] + anchor)), lift(*(values[i + one] + anchor))
                total = combine(left[slot], combine(right, p))
                right = combine(right, combine(p, q))
                second = combine(left[slot + one], right)
                if always_defined:
                    out[i] = lower(total, count, share)
                    out[i + one] = lower(second, count, share)
                else:
                    waiting[i - np.uintp(done)] = total
                    waiting[i - np.uintp(done) + one] = second
                i, slot = np.uintp(first + stop - 2 - j), np.uintp(this + stop - 2 - j)
                p, q = lift(*(values[i] + next_anchor)), lift(*(values[i + one] + next_anchor))
                left[slot + one] = combine(q, back)
                back = combine(combine(p, q), back)
                left[slot] = back
            if end == stop and stop % 2:  # the last row of an odd chunk, and its first
                i = first + end - 1
                right = combine(right, lift(*(values[i] + anchor)))
                total = combine(left[last + end], right)
                if always_defined:
                    out[i] = lower(total, count, share)
                else:
                    waiting[i - done] = total
                left[this] = combine(lift(*(values[first] + next_anchor)), back)
            if not always_defined and (first + end - done >= BLOCK or first + end == rows):
                lower_block(waiting, count, out, done, first + end, doubtful)
                done = first + end
            begin = end
        last, this = this, last


def lower_block(waiting, count, out, begin, end, doubtful):
    """Lower the totals of rows begin to end - 1."""
    results = out[begin:end]
    share = 1.0 / count
    doubt = False
    for k in range(len(results)):
        results[k] = lower(waiting[k], count, share)
    for k in range(len(results)):
        doubt |= results[k] != results[k]
    if doubt:
        doubtful[0] = min(doubtful[0], begin)
        doubtful[1] = end


def fill_up(left, values, n, out, valid, doubtful):
    """Compute the first chunk, whose frames are shorter than n, and its left-cumulative partials."""
    total = identity
    for i in range(n):
        total = combine(total, lift(*(values[i] + values[0])))
        if not always_defined:
            valid[i] = defined(i + 1)
        if always_defined or valid[i]:
            out[i] = lower(total, i + 1.0, 1.0 / (i + 1.0))
            if not always_defined and out[i] != out[i]:
                doubtful[0] = min(doubtful[0], i)
                doubtful[1] = i + 1
    total = identity
    for i in range(n - 1, -1, -1):
        total = combine(lift(*(values[i] + values[min(n, len(values) - 1)])), total)
        left[i] = total


def run_frames(work, values, start, end, out, valid):
    """out[i] is the result of rows start[i] to end[i] - 1, where valid[i]; work: one partial per row of the
    longest frame.

    Neither bound ever moves back; a frame may be empty, and is then not valid. At most 2 combines per row and
    one per frame: when the frame has left a boundary behind, its end becomes the next one.
    """
    values = zip_columns(values)
    left = zip_columns(work)
    results = zip_columns(out)
    base = 0  # left[k - base] is the product of rows k to boundary - 1
    boundary = 0
    last = 0
    right = identity  # the product of rows boundary to last - 1
    for i in range(len(start)):
        lo = start[i]
        hi = end[i]
        if lo >= boundary:
            total = identity
            for k in range(hi - 1, lo - 1, -1):
                total = combine(lift(*values[np.uintp(k)]), total)
                left[np.uintp(k - lo)] = total
            base = lo
            boundary = last = max(lo, hi)
            right = identity
        else:
            while last < hi:
                right = combine(right, lift(*values[np.uintp(last)]))
                last += 1
            total = combine(left[np.uintp(lo - base)], right)
        valid[i] = lo < hi and defined(total)
        if valid[i]:
            results[i] = lower(total)


def run_slides(work, values, n, slide, out, valid):
    """out[t] is the result of the last n rows at row (t + 1) slide, fewer at the start; work: n // slide
    partials.

    slide <= n; slide + 4 combines per slide. Slices begin where windows do, so that a window is d = n //
    slide whole slices and the first n % slide rows of the next; a chunk has d slices. A slice takes the place
    of the left-cumulative partial that the window has just left, until the chunk is complete.
    """
    values = zip_columns(values)
    left = zip_columns(work)
    results = zip_columns(out)
    d = n // slide
    extra = n % slide
    for j in range(d):
        left[j] = identity
    j = 0  # slices of this chunk
    right = identity  # their product
    top = identity  # the first rows of the next slice
    for t in range(len(values) // slide):
        end = (t + 1) * slide
        piece = top
        for i in range(end - slide, end - extra):
            piece = combine(piece, lift(*values[np.uintp(i)]))
        left[np.uintp(j)] = piece
        right = combine(right, piece)
        j += 1
        if j == d:
            total = right
            for k in range(d - 2, 0, -1):
                left[np.uintp(k)] = combine(left[np.uintp(k)], left[np.uintp(k + 1)])
            right = identity
            j = 0
        else:
            total = combine(left[np.uintp(j)], right)
        if extra:
            top = identity
            for i in range(end - extra, end):
                top = combine(top, lift(*values[np.uintp(i)]))
            total = combine(total, top)
        valid[t] = defined(total)
        if valid[t]:
            results[t] = lower(total)
