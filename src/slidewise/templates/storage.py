"""Where templates keep many elements: the queues of the interpreted and of the compiled form.

A queue is addressed by positions in the stream; an element keeps its position from insertion to eviction.
The worst case of DABA stays constant only if growth moves nothing (tutorial, section 3), so the interpreted
queue is a table of pages in three levels: an append allocates at most one page per level, and no element or
page reference is ever copied. It holds 2^30 elements, more than Python objects fit into memory. The
compiled queue is a ring of a power of two, since frames are known before a kernel starts.
"""

from __future__ import annotations

from typing import Any

BITS = 10
SIZE = 1 << BITS
LAST = SIZE - 1

Pages = list[Any]


def new_pages() -> Pages:
    """Make an empty queue."""
    return [None] * SIZE


def at(pages: Pages, i: int) -> Any:
    return pages[i >> 20 & LAST][i >> 10 & LAST][i & LAST]


def put(pages: Pages, i: int, value: Any) -> None:
    pages[i >> 20 & LAST][i >> 10 & LAST][i & LAST] = value


def append(pages: Pages, i: int, value: Any) -> None:
    slot = i & LAST
    middle = pages[i >> 20 & LAST]
    if middle is None:
        middle = pages[i >> 20 & LAST] = [None] * SIZE
    page = middle[i >> 10 & LAST]
    if page is None:
        page = middle[i >> 10 & LAST] = [None] * SIZE
    page[slot] = value


def drop(pages: Pages, i: int) -> None:
    # The slot is cleared: an evicted element must not stay alive in the page.
    middle = pages[i >> 20 & LAST]
    if i & LAST == LAST:
        middle[i >> 10 & LAST] = None
        if i >> 10 & LAST == LAST:
            pages[i >> 20 & LAST] = None
    else:
        middle[i >> 10 & LAST][i & LAST] = None


def holds(pages: Pages, start: int, stop: int) -> bool:
    """Tell whether positions start to stop - 1 have pages. O(pages that are there)."""
    if not 0 <= stop - start <= 1 << 3 * BITS:
        return False
    numbers = range(start >> BITS, (stop - 1 >> BITS) + 1) if start < stop else ()
    return all((middle := pages[n >> BITS & LAST]) is not None and middle[n & LAST] is not None for n in numbers)


def elements(pages: Pages) -> dict[int, Any]:
    """List the elements that are set, by position modulo 2^30."""
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
    """List the elements as runs of neighbouring pages: the first position, and all from it on.

    Elements may be None. At least one slot of every page is in its run, so that appending the runs to an
    empty queue allocates the same pages.
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
