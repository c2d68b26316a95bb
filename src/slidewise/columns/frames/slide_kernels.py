"""Kernels for slides and deltas over rows arranged by key and order; times and distances are numbers of one kind."""

from slidewise.templates.cache import cached_njit


@cached_njit
def boundary(x, every, offset):
    """Find the number of the last boundary at or before x; boundary k is k * every + offset. O(1).

    The compiled twin of Grid.step (windows/grid.py), which the tests hold it against.
    """
    k = int((x - offset) // every)
    while k * every + offset > x:  # a rounded quotient may be one off
        k -= 1
    while (k + 1) * every + offset <= x:
        k += 1
    return k


@cached_njit
def first_window(x, size, every, offset):
    """Find the first window [boundary k, boundary k + size) that ends after x. O(1)."""
    k = boundary(x - size, every, offset) + 1
    while (k - 1) * every + offset + size > x:
        k -= 1
    while k * every + offset + size <= x:
        k += 1
    return k


@cached_njit
def count_windows(low, high, times, size, every, offset, counts):
    """Count the windows of each key that have rows; key k is rows low[k] to high[k] - 1. O(rows)."""
    for key in range(len(low)):
        after = 0
        for i in range(low[key], high[key]):
            first, last = first_window(times[i], size, every, offset), boundary(times[i], every, offset)
            if i > low[key]:
                first = max(first, after)
            counts[key] += max(0, last + 1 - first)
            after = last + 1 if i == low[key] else max(after, last + 1)


@cached_njit
def fill_windows(low, high, times, size, every, offset, begin, window, start, end):
    """Write the number of every window that has rows, and its rows; key k's from begin[k] on. O(rows + windows)."""
    for key in range(len(low)):
        at = begin[key]
        after = 0
        for i in range(low[key], high[key]):
            first, last = first_window(times[i], size, every, offset), boundary(times[i], every, offset)
            if i > low[key]:
                first = max(first, after)
            for k in range(first, last + 1):
                window[at] = k
                at += 1
            after = last + 1 if i == low[key] else max(after, last + 1)
        a = b = low[key]
        for j in range(begin[key], begin[key + 1]):
            opens = window[j] * every + offset
            while a < high[key] and times[a] < opens:
                a += 1
            while b < high[key] and times[b] < opens + size:
                b += 1
            start[j], end[j] = a, b


@cached_njit
def count_found(low, high, first, last, counts):
    """Count the windows of each key that have rows, where row i is in windows first[i] to last[i]. O(rows)."""
    for key in range(len(low)):
        after = 0
        for i in range(low[key], high[key]):
            begin = first[i] if i == low[key] else max(first[i], after)
            counts[key] += max(0, last[i] + 1 - begin)
            after = last[i] + 1 if i == low[key] else max(after, last[i] + 1)


@cached_njit
def list_found(low, high, first, last, begin, window):
    """Write the numbers of these windows; key k's from begin[k] on. O(rows + windows)."""
    for key in range(len(low)):
        at = begin[key]
        after = 0
        for i in range(low[key], high[key]):
            for k in range(first[i] if i == low[key] else max(first[i], after), last[i] + 1):
                window[at] = k
                at += 1
            after = last[i] + 1 if i == low[key] else max(after, last[i] + 1)


@cached_njit
def find_rows(low, high, times, begin, opens, closes, start, end):
    """Find the rows of windows [opens[j], closes[j]), neither of which moves back within a key. O(rows + windows)."""
    for key in range(len(low)):
        a = b = low[key]
        for j in range(begin[key], begin[key + 1]):
            while a < high[key] and times[a] < opens[j]:
                a += 1
            while b < high[key] and times[b] < closes[j]:
                b += 1
            start[j], end[j] = a, b


@cached_njit
def boundaries(low, high, times, every, offset, out):
    """Write the number of the boundary after each row."""
    for key in range(len(low)):
        for i in range(low[key], high[key]):
            out[i] = boundary(times[i], every, offset) + 1


@cached_njit
def every_delta(offsets, values, size, fires):
    """Mark rows that are more than `size` above the last one marked; the first row of a key only starts the count."""
    for key in range(len(offsets) - 1):
        if offsets[key] < offsets[key + 1]:
            last = values[offsets[key]]
            for i in range(offsets[key] + 1, offsets[key + 1]):
                if values[i] - last > size:
                    fires[i] = True
                    last = values[i]


@cached_njit
def within_delta(offsets, values, size, start):
    """Find the first row that is at most `size` below row i; return False where values fall within a key."""
    for key in range(len(offsets) - 1):
        front = offsets[key]
        for i in range(offsets[key], offsets[key + 1]):
            if i > offsets[key] and values[i] < values[i - 1]:
                return False
            while values[i] - values[front] > size:
                front += 1
            start[i] = front
    return True


@cached_njit
def held_by_delta(begin, values, size, kept, first, last, held, count, rows, ends):
    """List the rows held after each of rows first to last - 1 has entered, as kept[row] where that is not negative.

    begin[i] is the first row of i's key. `held` has room for all rows of a key; `count` of them are there on entry, and
    the number at the end is returned. Without room in `rows` they are only counted. O(rows held) per row.
    """
    at = 0
    for i in range(first, last):
        if begin[i] == i:
            count = 0
        stay = 0
        for h in range(count):
            if values[i] - values[held[h]] <= size:
                held[stay] = held[h]
                stay += 1
        held[stay] = i
        count = stay + 1
        for h in range(count):
            if kept[held[h]] >= 0:
                if len(rows):
                    rows[at] = kept[held[h]]
                at += 1
        ends[i - first] = at
    return count
