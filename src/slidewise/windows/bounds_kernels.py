"""Kernels for frame bounds over rows arranged by key and order. Key k is rows offsets[k] to offsets[k + 1] - 1; bounds are
row numbers over all keys, and a frame never leaves its key. Two pointers move along with the rows: O(1) per row."""

from slidewise.templates.cache import cached_njit


@cached_njit
def rows(offsets, first, last, start, end):
    """From row i + first to row i + last."""
    for k in range(len(offsets) - 1):
        lo, hi = offsets[k], offsets[k + 1]
        for i in range(lo, hi):
            start[i] = min(max(i + first, lo), hi)
            end[i] = max(min(i + last + 1, hi), start[i])


@cached_njit
def rows_by_row(offsets, first, last, start, end):
    """From row i + first[i] to row i + last[i]."""
    for k in range(len(offsets) - 1):
        lo, hi = offsets[k], offsets[k + 1]
        for i in range(lo, hi):
            start[i] = min(max(i + first[i], lo), hi)
            end[i] = max(min(i + last[i] + 1, hi), start[i])


@cached_njit
def first_at_least(offsets, order, target, out):
    """out[i] is the first row of i's key whose order is at least target[i]; quick where targets move little."""
    for k in range(len(offsets) - 1):
        lo, hi = offsets[k], offsets[k + 1]
        at = lo
        for i in range(lo, hi):
            goal = target[i]
            if at < hi and order[at] < goal:
                step = 1  # gallop forward from where the last row stood, then close in
                while at + step < hi and order[at + step] < goal:
                    step *= 2
                low, high = at + step // 2 + 1, min(at + step, hi)
            elif at > lo and order[at - 1] >= goal:
                step = 1
                while at - step > lo and order[at - step - 1] >= goal:
                    step *= 2
                low, high = max(at - step - 1, lo), at - step // 2
            else:
                out[i] = at
                continue
            while low < high:
                middle = (low + high) // 2
                if order[middle] < goal:
                    low = middle + 1
                else:
                    high = middle
            at = low
            out[i] = at


@cached_njit
def peers(offsets, changes, start, end):
    """The rows of equal order: changes[i] tells whether row i differs from the row before it."""
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
    """The number of each row's group of peers over all keys, and where each group begins; how many there are."""
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
    """From the group first[i] after the row's own to the group last[i] after it."""
    for k in range(len(offsets) - 1):
        lo, hi = offsets[k], offsets[k + 1]
        if lo == hi:
            continue
        low, high = group[lo], group[hi - 1]
        for i in range(lo, hi):
            a = max(group[i] + first[i], low)
            b = min(group[i] + last[i], high)
            if a > b:
                start[i] = end[i] = min(max(begin[min(a, high)], lo), hi)
            else:
                start[i] = begin[a]
                end[i] = begin[b + 1]
