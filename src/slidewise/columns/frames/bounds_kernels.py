"""Kernels for frame bounds over rows arranged by key and order: O(1) per row where frames move on with the rows.

Key k is rows offsets[k] to offsets[k + 1] - 1; bounds are row numbers over all keys, and a frame never leaves its key.
"""

from slidewise.templates.cache import cached_njit


@cached_njit
def rows(offsets, first, last, start, end):
    """Write frames from row i + first to row i + last."""
    for k in range(len(offsets) - 1):
        lo, hi = offsets[k], offsets[k + 1]
        for i in range(lo, hi):
            start[i] = min(max(i + first, lo), hi)
            end[i] = max(min(i + last + 1, hi), start[i])


@cached_njit
def rows_by_row(offsets, first, last, start, end):
    """Write frames from row i + first[i] to row i + last[i]."""
    for k in range(len(offsets) - 1):
        lo, hi = offsets[k], offsets[k + 1]
        for i in range(lo, hi):
            start[i] = min(max(i + first[i], lo), hi)
            end[i] = max(min(i + last[i] + 1, hi), start[i])


@cached_njit
def search(low, high, order, target, beyond, out):
    """Write to out[i] the first row of i's key whose order is at least target[i], or above it where `beyond`.

    Only rows low[k] to high[k] - 1 of key k are looked at and answered. Quick where targets move little: O(log d) for a
    target that lies d rows from the one before.
    """
    for k in range(len(low)):
        lo, hi = low[k], high[k]
        at = lo
        for i in range(lo, hi):
            goal = target[i]
            if at < hi and (order[at] < goal or (beyond and order[at] == goal)):
                step = 1  # gallop forward from where the last row stood, then close in
                while at + step < hi and (order[at + step] < goal or (beyond and order[at + step] == goal)):
                    step *= 2
                left, right = at + step // 2 + 1, min(at + step, hi)
            elif at > lo and (order[at - 1] > goal or (not beyond and order[at - 1] == goal)):
                step = 1
                while at - step > lo and (order[at - step - 1] > goal or (not beyond and order[at - step - 1] == goal)):
                    step *= 2
                left, right = max(at - step, lo), at - step // 2 - 1
            else:
                left = right = at
            while left < right:
                middle = (left + right) // 2
                if order[middle] < goal or (beyond and order[middle] == goal):
                    left = middle + 1
                else:
                    right = middle
            at = left
            out[i] = at


@cached_njit
def peers(offsets, changes, start, end):
    """Write frames of the rows of equal order: changes[i] tells whether row i differs from the row before it."""
    for k in range(len(offsets) - 1):
        lo, hi = offsets[k], offsets[k + 1]
        i = lo
        while i < hi:
            j = i + 1
            while j < hi and not changes[j]:
                j += 1
            for m in range(i, j):
                start[m] = i
                end[m] = j
            i = j


@cached_njit
def group_numbers(offsets, changes, group, begin):
    """Write the number of each row's group of peers over all keys, and where each group begins; return their count."""
    count = 0
    for k in range(len(offsets) - 1):
        for i in range(offsets[k], offsets[k + 1]):
            if i == offsets[k] or changes[i]:
                begin[count] = i
                count += 1
            group[i] = count - 1
    begin[count] = offsets[-1]
    return count


@cached_njit
def groups_by_row(offsets, group, begin, first, last, start, end):
    """Write frames from the group first[i] after the row's own to the group last[i] after it."""
    for k in range(len(offsets) - 1):
        lo, hi = offsets[k], offsets[k + 1]
        for i in range(lo, hi):
            low, after = group[lo], group[hi - 1] + 1  # begin[after] is hi
            start[i] = begin[min(max(group[i] + first[i], low), after)]
            end[i] = max(begin[min(max(group[i] + last[i] + 1, low), after)], start[i])


@cached_njit
def since_marks(offsets, marks, start, end):
    """Write frames from the row after the last mark before row i, to row i."""
    for k in range(len(offsets) - 1):
        begin = offsets[k]
        for i in range(offsets[k], offsets[k + 1]):
            start[i], end[i] = begin, i + 1
            if marks[i]:
                begin = i + 1
