"""SBA one slide at a time, compiled: sba.py has its other forms, and the invariant.

What is inserted is a slice, the partial of one slide, and a window is a fixed number of them. Positions are slots of a
ring of whole chunks, so that nothing is divided: a slide of a maximum takes 5.8 ns at n = 2^13, and 38 by the functions
of sba.py, which take single values and divide to cut them. Invariant, as what a slot holds while its slice is in the
window:

    in a complete chunk    the product from the slice to the chunk's end: its left-cumulative partials
    in the newest chunk    the slice

with `running` the product of the newest chunk. A window is the left-cumulative partial of its first slice, the first
ones of the chunks in between (at most one with the default chunk), and the running partial: at most 3 combines per
slide, and c - 2 more where a chunk is complete. Windows in time are slices of equal time, and
`sba.optimal_chunk_size_time` says how many are a chunk.
"""

from typing import NamedTuple

import numpy as np

from slidewise.algorithms import sba
from slidewise.algorithms.sba import cumulate_slots, optimal_chunk_size, require_count
from slidewise.errors import Refused
from slidewise.templates.checking import agree, fold
from slidewise.templates.names import Array, Partial, combine, grow, identity

USES = (sba,)


class State(NamedTuple):
    #: slices in a window, and in a chunk
    window: int
    chunk: int
    #: slices that are held
    held: int
    #: the slot of the oldest one, and the slot after its chunk
    first: int
    turn: int
    #: the slot of the next one, and the slot after the newest chunk
    at: int
    edge: int
    running: Partial
    slices: Array


def setup(s, slices=None, chunk=None):
    """Set up the interpreted form."""
    begin(s, slices, chunk)
    grow(s.slices, ring_size(s.window, s.chunk))


def setup_compiled(s, identity, capacity, slices=None, chunk=None):
    """Set up the compiled form."""
    begin(s, slices, chunk)
    s.slices = allocate(s)


def begin(s, slices, chunk):
    s.window = require_count("number of slices", slices, 1)
    s.chunk = optimal_chunk_size(s.window, 1) if chunk is None else chunk
    require_count("chunk", s.chunk, 1, s.window, "the number of slices in a window")
    s.turn = s.edge = s.chunk


def allocate(s):
    return np.zeros(ring_size(s.window, s.chunk), s.slices.dtype)


def ring_size(window, chunk):
    """Count the slots of the chunks that a window may reach into, if its newest slice comes before its oldest
    leaves."""
    return chunk * (1 + -(-window // chunk))


def insert(s, v):
    """1 combine; where a chunk is complete, c - 2 more."""
    if s.held > s.window:
        raise Refused("insert: the window is longer than its range by a slide. Evict its oldest slice first")
    s.slices[s.at] = v
    s.running = combine(s.running, v)
    s.at += 1
    s.held += 1
    if s.at == s.edge:
        close_chunk(s)


def close_chunk(s):
    """Cross a boundary: the slices of the newest chunk become left-cumulative partials."""
    base = s.edge - s.chunk
    gone = max(0, s.chunk - s.held)
    if gone == 0:
        s.slices[base] = s.running
    s.running = identity
    cumulate(s, base + max(1, gone), s.edge)
    if s.at == len(s.slices):
        s.at = 0
    s.edge = s.at + s.chunk


def cumulate(s, first, end):
    """Compute the left-cumulative partials of slots first to end - 1: one combine less than slots."""
    cumulate_slots(s.slices, first, end)


def settle(s, slot):
    """Before a left-cumulative partial is read: here it is always there, PBA may have to wait."""


def evict(s):
    """No combine."""
    s.first += 1
    s.held -= 1
    if s.first == s.turn:
        if s.first == len(s.slices):
            s.first = 0
        s.turn = s.first + s.chunk


def query(s):
    """At most 2 combines with the default chunk."""
    base = s.edge - s.chunk
    newest = s.at - base
    if s.held <= newest:
        if s.held < newest:
            raise Refused("query: the window is shorter than a chunk, and knows only whole ones. Give a smaller chunk")
        return s.running
    settle(s, s.first)
    total = s.slices[s.first]
    slot = s.turn if s.turn < len(s.slices) else 0
    while slot != base:
        total = combine(total, s.slices[slot])
        slot += s.chunk
        if slot == len(s.slices):
            slot = 0
    return combine(total, s.running) if newest > 0 else total


def size(s):
    return s.held


def sound(s):
    slots = len(s.slices)
    whole = slots == ring_size(s.window, s.chunk) and 1 <= s.chunk <= s.window
    inside = 0 <= s.first < s.turn <= slots and 0 <= s.at < s.edge <= slots and 0 <= s.held <= s.window + 1
    at_chunks = s.turn % s.chunk == 0 and s.edge % s.chunk == 0 and s.turn - s.first <= s.chunk
    return whole and inside and at_chunks and (s.first + s.held - s.at) % slots == 0 and s.edge - s.at <= s.chunk


def check(s, partials):
    assert sound(s)
    if partials is None:
        return
    newest = s.at - (s.edge - s.chunk)
    for i in range(s.held):
        slot = (s.first + i) % len(s.slices)
        settle(s, slot)
        end = i + 1 if i >= s.held - newest else i + s.chunk - slot % s.chunk
        assert agree(s.slices[slot], fold(combine, partials[i:end]))
    if s.held >= newest:
        assert agree(s.running, fold(combine, partials[s.held - newest :]))
