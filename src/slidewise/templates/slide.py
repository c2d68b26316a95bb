"""The drivers of one event: what leaves the window, the row that enters it, and the result, in one call.

The state is a block of memory (blocks.py): the fields of `Header`, then those of the algorithm. A call that gives None
says in `status` why, and has changed nothing that another one would not change.
"""

from typing import NamedTuple

from slidewise.templates.names import (
    Moment,
    Moments,
    defined,
    evict,
    identity,
    insert,
    layout,
    lift,
    lower,
    open_block,
    query,
    takes,
)

#: what `status` says
NULL, REFUSED, FULL = 0, 1, 2
#: a window reaches back from later times only without an integer that wraps around
EARLIEST = -(1 << 62)
#: sums of integers whose sizes together stay below it do not wrap around, in whatever order they are combined
FARTHEST = 1 << 62


class Header(NamedTuple):
    status: int
    #: the most rows that were held at once
    most: int
    #: so many rows have room, and positions up to this one
    room: int
    limit: int
    #: no integer that is held is larger
    magnitude: int
    #: how many rows a window of rows holds
    rows: int
    #: of a window of time: how far it reaches back, less than 0, and whether it leaves out the row just there
    reach: Moment
    open_start: int
    moments: Moments


def slide_rows(address, there, value):
    """Take a row, which is null unless `there`, into a window of the last rows."""
    s = open_block(address, layout, identity, 0)
    if there and not takes(s, value):
        s.status = REFUSED
        return None
    if s.end - s.front >= s.room or s.end >= s.limit:
        s.status = FULL
        return None
    if s.end - s.front == s.rows:
        evict(s)
    if there:
        insert(s, lift(value))
    else:
        insert(s, identity)
    s.most = max(s.most, s.end - s.front)
    total = query(s)
    if defined(total):
        return lower(total)
    s.status = NULL
    return None


def slide_time(address, moment, there, value):
    """Take a row into a window of the last time, after those that are no longer in it have left: not all of them."""
    s = open_block(address, layout, identity, moment)
    if (there and not takes(s, value)) or moment < EARLIEST:
        s.status = REFUSED
        return None
    if s.end - s.front >= s.room or s.end >= s.limit:
        s.status = FULL
        return None
    low = moment + s.reach
    newest = s.moments[s.end - 1]
    if newest < low or (s.open_start and newest == low):  # a structure of no rows is made anew
        s.status = REFUSED
        return None
    while s.moments[s.front] < low or (s.open_start and s.moments[s.front] == low):
        evict(s)
    s.moments[s.end] = moment
    if there:
        insert(s, lift(value))
    else:
        insert(s, identity)
    s.most = max(s.most, s.end - s.front)
    total = query(s)
    if defined(total):
        return lower(total)
    s.status = NULL
    return None


# ---- the operations of a structure, one by one: they return a status, of which 0 is that all is well
def insert_value(address, there, value):
    s = open_block(address, layout, identity, 0)
    if there and not takes(s, value):
        return REFUSED
    if s.end - s.front >= s.room or s.end >= s.limit:
        return FULL
    if there:
        insert(s, lift(value))
    else:
        insert(s, identity)
    s.most = max(s.most, s.end - s.front)
    return 0


def evict_value(address):
    s = open_block(address, layout, identity, 0)
    if s.front == s.end:
        return REFUSED
    evict(s)
    return 0


def query_value(address):
    s = open_block(address, layout, identity, 0)
    total = query(s)
    return lower(total) if defined(total) else None


# ---- `takes`: whether compiled code holds a value as Python does
def takes_any(s, value):
    return True


def takes_finite(s, value):
    """Of sums of infinities comes a NaN, and of two NaNs either."""
    return value - value == 0.0


def takes_small(s, value):
    """Take an integer if sums of as many of the largest stay within FARTHEST: Python's would not wrap around."""
    largest = max(s.magnitude, abs(value))
    if value < -FARTHEST or largest > FARTHEST // (s.end - s.front + 1):
        return False
    s.magnitude = largest
    return True


# ---- queues of a block
def at(pages, i):
    return pages[i]


def put(pages, i, value):
    pages[i] = value


def drop(pages, i):
    pass
