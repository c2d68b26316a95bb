"""Where templates keep many elements: the queues of the interpreted and of the compiled form.

A queue is addressed by positions in the stream; an element keeps its position from insertion to eviction.
The interpreted queue has two forms, both plain lists. Of few elements it is a ring of a power of two, which doubles
when it is full: a queue of one element takes 100 bytes. Of more than 512 it is a table of pages in three levels: the
worst case of DABA stays constant only if growth moves nothing (tutorial, section 3), and here an append allocates at
most one page per level, and no element or page reference is ever copied. It holds 2^30 elements, more than Python
objects fit into memory. A table from the first element on took 25 KB for it. The compiled queue is a ring of a power of
two, since frames are known before a kernel starts.
"""

from __future__ import annotations

from typing import Any

BITS = 10
SIZE = 1 << BITS
LAST = SIZE - 1
#: how many slots a ring may have: powers of two
RINGS = (4, 8, 16, 32, 64, 128, 256, 512)
FEWEST, MOST = RINGS[0], RINGS[-1]

#: a ring and, as its last element, the first position that was not dropped; or SIZE tables of SIZE pages
Pages = list[Any]


def new_pages() -> Pages:
    """Make an empty queue."""
    return [None] * FEWEST + [0]


# Rings have 5, 9, ... 513 elements and tables SIZE: `len(pages) - 2` is the mask of a ring, and tells the forms apart.
_TABLE = SIZE - 2


def at(pages: Pages, i: int) -> Any:
    mask = len(pages) - 2
    if mask != _TABLE:
        return pages[i & mask]
    return pages[i >> 20 & LAST][i >> 10 & LAST][i & LAST]


def put(pages: Pages, i: int, value: Any) -> None:
    mask = len(pages) - 2
    if mask != _TABLE:
        pages[i & mask] = value
    else:
        pages[i >> 20 & LAST][i >> 10 & LAST][i & LAST] = value


def append(pages: Pages, i: int, value: Any) -> None:
    mask = len(pages) - 2
    if mask != _TABLE:
        if i - pages[-1] <= mask:
            pages[i & mask] = value
            return
        _enlarge(pages, i)
        append(pages, i, value)
        return
    slot = i & LAST
    middle = pages[i >> 20 & LAST]
    if middle is None:
        middle = pages[i >> 20 & LAST] = [None] * SIZE
    page = middle[i >> 10 & LAST]
    if page is None:
        page = middle[i >> 10 & LAST] = [None] * SIZE
    page[slot] = value


def _enlarge(pages: Pages, end: int) -> None:
    """Double a ring, or make it a table: at most MOST elements move, whatever the queue comes to hold."""
    n, front = len(pages) - 1, pages[-1]
    held = range(max(front, end - n), end)
    values = [pages[i & n - 1] for i in held]
    larger = [None] * SIZE if n == MOST else [None] * (2 * n) + [front]
    for i, value in zip(held, values, strict=True):
        (append if n == MOST else put)(larger, i, value)
    pages[:] = larger


def drop(pages: Pages, i: int) -> None:
    # The slot is cleared: an evicted element must not stay alive in the page.
    mask = len(pages) - 2
    if mask != _TABLE:
        pages[i & mask] = None
        pages[-1] = i + 1
        return
    middle = pages[i >> 20 & LAST]
    if i & LAST == LAST:
        middle[i >> 10 & LAST] = None
        if i >> 10 & LAST == LAST:
            pages[i >> 20 & LAST] = None
    else:
        middle[i >> 10 & LAST][i & LAST] = None


def is_ring(pages: Pages) -> bool:
    """Tell whether the queue has few elements, and its form."""
    return len(pages) != SIZE


def list_ring(pages: Pages) -> tuple[int, list[Any]]:
    """List all slots of a ring, used or not, from its first position on."""
    front, n = pages[-1], len(pages) - 1
    return front, [pages[i & n - 1] for i in range(front, front + n)]


def build_ring(front: int, values: list[Any]) -> Pages:
    """Build the ring that list_ring() lists."""
    n = len(values)
    pages = [None] * n + [front]
    for i, value in enumerate(values, front):
        pages[i & n - 1] = value
    return pages


def lay_out(front: int, values: list[Any], most: int | None) -> Pages:
    """Build the queue that has had `most` elements at once, None: more than MOST, and now has these."""
    if most is not None:
        slots = max(FEWEST, 1 << (most - 1).bit_length())
        return build_ring(front, values + [None] * (slots - len(values)))
    pages: Pages = [None] * SIZE
    end = front + len(values)
    for i, value in enumerate(values, front):
        append(pages, i, value)
    if not values and front & LAST:  # its page goes with its last slot
        append(pages, end, None)
    return pages


def holds(pages: Pages, start: int, stop: int) -> bool:
    """Tell whether positions start to stop - 1 have slots. O(pages that are there)."""
    if is_ring(pages):
        return start == stop or bool(pages[-1] <= start <= stop <= pages[-1] + len(pages) - 1)
    if not 0 <= stop - start <= 1 << 3 * BITS:
        return False
    numbers = range(start >> BITS, (stop - 1 >> BITS) + 1) if start < stop else ()
    return all((middle := pages[n >> BITS & LAST]) is not None and middle[n & LAST] is not None for n in numbers)


def elements(pages: Pages) -> dict[int, Any]:
    """List the elements that are set, by position; modulo 2^30 where there are many."""
    if is_ring(pages):
        front, values = list_ring(pages)
        return {i: value for i, value in enumerate(values, front) if value is not None}
    return {
        hi << 20 | mid << 10 | lo: value
        for hi, middle in enumerate(pages)
        if middle is not None
        for mid, page in enumerate(middle)
        if page is not None
        for lo, value in enumerate(page)
        if value is not None
    }


def stretches(pages: Pages) -> list[tuple[int, list[Any]]]:
    """List the elements of a table as runs of neighbouring pages: the first position, and all from it on.

    Elements may be None. At least one slot of every page is in its run, so that appending the runs to an
    empty table allocates the same pages.
    """
    numbers = [
        hi << BITS | mid
        for hi, middle in enumerate(pages)
        if middle is not None
        for mid, page in enumerate(middle)
        if page is not None
    ]
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    found = []
    for run in runs:
        values = [value for number in run for value in pages[number >> BITS][number & LAST]]
        first = next((k for k in range(LAST) if values[k] is not None), LAST)
        unused = next((k for k in range(LAST) if values[-1 - k] is not None), LAST)
        found.append((run[0] << BITS | first, values[first : max(first + 1, len(values) - unused)]))
    return found


def grow_list(array: list[Any], size: int) -> None:
    if size > len(array):
        array.extend([None] * (size - len(array)))


def shrink_list(array: list[Any], size: int) -> None:
    del array[size:]


# ---- compiled: arrays have their full size from the start
def refuse_growth(array, size):
    raise ValueError("a compiled state is longer than its capacity")


def keep_size(array, size):
    pass
