"""The mode of frames whose bounds never move back, ties to the lowest value.

Values are codes in their order. Beside the count of each code there is the number of codes that have each
count, so that it is known whether the mode, when it loses a row, still is the mode or shares its count;
only then is another code searched for, through upper bounds of the counts of 32 and of 1024 codes that
every search tightens. A tournament tree over (count, code) took 21 to 39 ns a row where this takes 6 to 15. A
window of few rows keeps counts only, and is looked through when its mode loses a row: 5 ns where this takes 14.
"""

import numpy as np
from numba import int64

from slidewise.columns.holistic.chunk_ranks import first_passes, next_passes, rank, workspace
from slidewise.columns.holistic.compiling import helper, kernel, leaf
from slidewise.columns.holistic.frame_chunks import FEWEST, chunk_stop
from slidewise.columns.holistic.sort_keys import keys_of, words_of

#: windows that are looked through for their mode; at 32 rows that takes 7 ns a row instead of 12 where values are
#: random, and 40 instead of 23 where they ascend, so that every row is a mode that is lost next
FEW_ROWS = 32


@kernel
def dense_mode(codes, lowest, size, w, start, end, out):
    """Find modes of integers that are codes once `lowest` is taken off: of the last w rows, or of frames for w = 0."""
    if w > 0:
        modes_of_rows(codes, lowest, size, w, int64(0), out)
    else:
        longest = 0
        for t in range(start.size):
            longest = max(longest, end[t] - start[t])
        modes_of_frames(codes, lowest, size, start, end, int64(0), new_tables(size, longest), out)
    for t in range(out.size):
        out[t] += lowest


def new_room(rows):
    """Allocate what modes of ranked values work in, for chunks of so many rows: see workspace."""
    return workspace(rows), np.empty(rows, np.int64), np.empty(rows, np.int64), np.empty(rows, np.int64)


@kernel
def ranked_mode_of_rows(words, floats, w, chunk, passes, room, out):
    """Find modes of any values over the last w rows: codes by rank, chunk by chunk."""
    n = words.size
    work, keys, codes, key_of = room
    _, _, _, _, order, _ = work
    badness = int64(0)
    i = int64(0)
    while i < n:
        first = i - w if i > w else int64(0)
        m = chunk if chunk < n - first else n - first
        keys_of(words, first, m, floats, keys)
        moves = rank(keys, m, passes, work)
        passes, badness = next_passes(passes, moves, m, badness)
        size = codes_of_order(keys, m, order, codes, key_of)
        found = out[i : first + m]
        modes_of_rows(codes[:m], int64(0), size, w, i - first, found)
        for t in range(found.size):
            found[t] = key_of[found[t]]
        words_of(found, found.size, floats, found, int64(0))
        i = first + m


@kernel
def ranked_mode_of_frames(words, floats, start, end, room, out):
    """Find modes of any values over frames: codes by rank, chunk by chunk."""
    n = start.size
    work, keys, codes, key_of = room
    _, _, _, _, order, _ = work
    passes = badness = int64(0)
    i = int64(0)
    while i < n:
        offset = start[i]
        stop = chunk_stop(start, end, i, FEWEST)
        rows = end[stop - 1] - offset
        size = int64(0)
        if rows > 0:
            keys_of(words, offset, rows, floats, keys)
            fewest_passes = first_passes(rows)
            passes = passes if passes > fewest_passes else fewest_passes
            moves = rank(keys, rows, passes, work)
            passes, badness = next_passes(passes, moves, rows, badness)
            size = codes_of_order(keys, rows, order, codes, key_of)
        found = out[i:stop]
        modes_of_frames(codes, int64(0), size, start[i:stop], end[i:stop], offset, new_tables(size, rows), found)
        for t in range(found.size):
            found[t] = key_of[found[t]] if start[i + t] < end[i + t] else 0
        words_of(found, found.size, floats, found, int64(0))
        i = stop


@leaf
def codes_of_order(keys, n, order, codes, key_of):
    """Make dense codes of n keys from their order; return how many there are."""
    code = -1
    for p in range(n):
        row = order[p]
        if p == 0 or keys[row] != key_of[code]:
            code += 1
            key_of[code] = keys[row]
        codes[row] = code
    return code + 1


@helper
def new_tables(size, longest):
    """Allocate the counts of codes, how many codes have each count, and the bounds of 32 and 1024 codes."""
    return (
        np.zeros(size + 64, np.int32),
        np.zeros(longest + 3, np.int32),
        np.zeros((size >> 5) + 66, np.int32),
        np.zeros((size >> 10) + 4, np.int32),
    )


@leaf
def modes_of_rows(codes, lowest, size, w, before, out):
    """Find the most frequent code of each row after the first `before`, and the w - 1 rows before it."""
    if w <= FEW_ROWS:
        modes_of_few_rows(codes, lowest, size, w, before, out)
        return
    counts, having, bounds, large_bounds = new_tables(size, min(w, codes.size))
    having[0] = size
    mode, most = 0, 0
    for t in range(codes.size):
        code = codes[t] - lowest
        gone = codes[t - w] - lowest if t >= w else -1
        if code != gone:
            count = counts[code] + 1  # a row enters
            having[count - 1] -= 1
            having[count] += 1
            counts[code] = count
            bounds[code >> 5] = max(bounds[code >> 5], count)
            large_bounds[code >> 10] = max(large_bounds[code >> 10], count)
            if count > most or (count == most and code < mode):
                mode, most = code, count
            if gone >= 0:  # and a row leaves
                count = counts[gone]
                having[count] -= 1
                having[count - 1] += 1
                counts[gone] = count - 1
                if gone == mode:
                    if having[most] > 0:  # it was the lowest of several
                        mode = search(counts, bounds, large_bounds, size, gone + 1, most)
                    else:
                        most -= 1
                        if most > 0 and having[most] > 1:
                            mode = search(counts, bounds, large_bounds, size, int64(0), most)
        if t >= before:
            out[t - before] = mode


@leaf
def modes_of_few_rows(codes, lowest, size, w, before, out):
    """Find the same, in O(w) where the mode loses a row.

    Count and code are one number, which is the larger the more often the code occurs, and the lower it is.
    """
    counts = np.empty(size, np.int64)
    for code in range(size):
        counts[code] = -code
    one = int64(1) << 32
    best = int64(0)
    for t in range(codes.size):
        code = codes[t] - lowest
        counts[code] += one
        best = max(best, counts[code])
        if t >= w:
            gone = codes[t - w] - lowest
            counts[gone] -= one
            if counts[gone] + one == best:
                best -= one
                for j in range(t - w + 1, t + 1):
                    best = max(best, counts[codes[j] - lowest])
        if t >= before:
            out[t - before] = -best & 0xFFFFFFFF


@leaf
def modes_of_frames(codes, lowest, size, start, end, offset, tables, out):
    """Find the most frequent code of each frame; 0 where it is empty. Row `offset` is codes[0].

    The same steps as for rows: as functions of the tables they took twice the time.
    """
    counts, having, bounds, large_bounds = tables
    having[0] = size
    mode, most = 0, 0
    first = last = start[0] - offset
    for t in range(start.size):
        while first < start[t] - offset or last < end[t] - offset:
            if last < end[t] - offset:
                code = codes[last] - lowest
                last += 1
                count = counts[code] + 1
                having[count - 1] -= 1
                having[count] += 1
                counts[code] = count
                bounds[code >> 5] = max(bounds[code >> 5], count)
                large_bounds[code >> 10] = max(large_bounds[code >> 10], count)
                if count > most or (count == most and code < mode):
                    mode, most = code, count
            if first < min(start[t] - offset, last):
                code = codes[first] - lowest
                first += 1
                count = counts[code]
                having[count] -= 1
                having[count - 1] += 1
                counts[code] = count - 1
                if code == mode:
                    if having[most] > 0:
                        mode = search(counts, bounds, large_bounds, size, code + 1, most)
                    else:
                        most -= 1
                        if most > 0 and having[most] > 1:
                            mode = search(counts, bounds, large_bounds, size, int64(0), most)
        out[t] = mode if most > 0 else 0


@leaf
def search(counts, bounds, large_bounds, size, code, count):
    """Find the lowest code from `code` on that has the count, which one has and none exceeds."""
    while code < size and code & 31:
        if counts[code] == count:
            return code
        code += 1
    group = code >> 5
    while True:
        if group & 31 == 0:
            while large_bounds[group >> 5] < count:
                group += 32
        if bounds[group] >= count:
            found = int64(-1)
            bound = np.int32(0)
            for j in range(min(size, (group + 1) << 5) - 1, (group << 5) - 1, -1):
                bound = max(bound, counts[j])
                if counts[j] == count:
                    found = j
            bounds[group] = bound
            if found >= 0:
                return found
        group += 1
        if group & 31 == 0:
            bound = np.int32(0)
            for j in range(group - 32, group):
                bound = max(bound, bounds[j])
            large_bounds[(group >> 5) - 1] = bound
