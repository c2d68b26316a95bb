"""The mode of any frames, ties to the lowest value: a table of the modes of all ranges of whole pieces,
about sqrt(w) rows each, up to the longest frame; the rows at a frame's edges, before its first whole
piece and after its last, may each beat the table's answer, which their values' lists of rows tell without
counting. O(sqrt w) a frame.
"""

import numpy as np
from numba import int64

from slidewise.columns.holistic.chunk_ranks import first_passes, rank
from slidewise.columns.holistic.compiling import kernel, leaf
from slidewise.columns.holistic.frame_chunks import find_covered
from slidewise.columns.holistic.mode_sliding import codes_of_order
from slidewise.columns.holistic.sort_keys import keys_of, words_of


@kernel
def any_mode(words, floats, lowest, size, start, end, longest, block, work, out):
    """Find the modes of any frames. Integers from lowest to lowest + size - 1 are codes already; size 0: rank values.

    About 80 ns a frame of up to 32 rows, 400 of up to 2000.
    """
    n = start.size
    piece = max(8, int(np.sqrt(longest)))
    first, last = 0, -1
    key_of = np.empty(0, np.int64)
    codes = rows = index = begins = np.empty(0, np.int32)
    table = np.empty((1, 1, 2), np.int32)
    for i in range(0, n, block):
        stop = min(n, i + block)
        a, b = find_covered(start[i:stop], end[i:stop], words.size, 16 * block)
        if a < b and not (first <= a and b <= last):
            first, last = a, b
            codes, key_of = encode_keys(words[a:b], floats, lowest, size, work)
            rows, index, begins = lists_of_rows(codes, key_of.size)
            table = modes_of_pieces(codes, key_of.size, piece, longest // piece + 1)
        found = out[i:stop]
        modes_of(codes, rows, index, begins, table, piece, start[i:stop], end[i:stop], first, found)
        for t in range(found.size):
            found[t] = key_of[found[t]] if start[i + t] < end[i + t] else 0
        words_of(found, found.size, floats, found, int64(0))


@leaf
def encode_keys(words, floats, lowest, size, work):
    """Encode keys as codes in their order; return the key of each code too."""
    n = words.size
    codes = np.empty(n, np.int32)
    if size > 0:
        for t in range(n):
            codes[t] = words[t] - lowest
        return codes, lowest + np.arange(size)
    keys, key_of = np.empty(n, np.int64), np.empty(n, np.int64)
    keys_of(words, int64(0), n, floats, keys)
    rank(keys, n, first_passes(n), work)
    _, _, _, _, order, _ = work
    size = codes_of_order(keys, n, order, codes, key_of)
    return codes, key_of[:size]


@leaf
def lists_of_rows(codes, size):
    """List the rows of code c as rows[begins[c]] to rows[begins[c + 1] - 1]; index[t] is the place of row t there."""
    n = codes.size
    begins, place = np.zeros(size + 1, np.int32), np.empty(size, np.int32)
    rows, index = np.empty(n, np.int32), np.empty(n, np.int32)
    for t in range(n):
        begins[codes[t] + 1] += 1
    for code in range(size):
        place[code] = begins[code]
        begins[code + 1] += begins[code]
    for t in range(n):
        p = place[codes[t]]
        rows[p], index[t] = t, p
        place[codes[t]] = p + 1
    return rows, index, begins


@leaf
def modes_of_pieces(codes, size, piece, most_pieces):
    """Fill table[s, k] with the mode of pieces s to s + k, and how often it occurs there."""
    n = codes.size
    table = np.empty((n // piece + 1, most_pieces, 2), np.int32)
    counts = np.zeros(size, np.int32)
    for s in range(table.shape[0]):
        mode, most = -1, 0
        for k in range(min(table.shape[0] - s, most_pieces)):
            for t in range((s + k) * piece, min(n, (s + k + 1) * piece)):
                code = codes[t]
                count = counts[code] + 1
                counts[code] = count
                if count > most or (count == most and code < mode):
                    mode, most = code, count
            table[s, k, 0], table[s, k, 1] = mode, most
        for t in range(s * piece, min(n, (s + most_pieces) * piece)):
            counts[codes[t]] = 0
    return table


@leaf
def modes_of(codes, rows, index, begins, table, piece, starts, ends, offset, out):
    """Find the lowest of the most frequent codes of each frame that is not empty."""
    for i in range(starts.size):
        start, end = starts[i] - offset, ends[i] - offset
        if start >= end:
            continue
        s, e = (start + piece - 1) // piece, end // piece
        mode, most = -1, 0
        left, right = end, end
        if s < e:
            mode, most = table[s, e - 1 - s, 0], table[s, e - 1 - s, 1]
            left, right = s * piece, e * piece
        for t in range(start, left):  # where t is the first row of its code, the list says how many follow in the frame
            code, p = codes[t], index[t]
            stop = begins[code + 1]
            if p + most < stop and rows[p + most] < end:
                while p + most < stop and rows[p + most] < end:
                    most += 1
                mode = code
            elif code < mode and p + most - 1 < stop and rows[p + most - 1] < end:
                mode = code
        for t in range(right, end):  # where it is the last, how many come before it
            code, p = codes[t], index[t]
            begin = begins[code]
            if p - most >= begin and rows[p - most] >= start:
                while p - most >= begin and rows[p - most] >= start:
                    most += 1
                mode = code
            elif code < mode and p - most + 1 >= begin and rows[p - most + 1] >= start:
                mode = code
        out[i] = mode
