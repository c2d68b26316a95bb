"""Kernels that look at order: is it sorted, where does a key begin, and sorts that keep ties in their order."""

import numpy as np

from slidewise.templates.cache import cached_njit

#: bits per pass of the radix sort
DIGIT = 8


@cached_njit
def ascending(values):
    """Tell whether no value is below the one before it."""
    for i in range(1, len(values)):  # noqa: SIM110 (kernels are plain loops)
        if values[i] < values[i - 1]:
            return False
    return True


@cached_njit
def offsets(codes, number):
    """Find where each code begins among sorted codes."""
    out = np.zeros(number + 1, np.int64)
    for code in codes:
        out[code + 1] += 1
    for k in range(number):
        out[k + 1] += out[k]
    return out


@cached_njit
def counting_sort(codes, number):
    """Find the stable permutation that sorts the codes, and where each begins in it."""
    begin = np.zeros(number + 1, np.int64)
    for code in codes:
        begin[code + 1] += 1
    for k in range(number):
        begin[k + 1] += begin[k]
    place = begin[:-1].copy()
    permutation = np.empty(len(codes), np.int64)
    for i in range(len(codes)):
        code = codes[i]
        permutation[place[code]] = i
        place[code] += 1
    return permutation, begin


@cached_njit
def count_codes(values, low, counts, first, last):
    """Count how often each code, a value less the lowest, occurs among rows first to last - 1."""
    for i in range(first, last):
        counts[np.intp(values[i] - low)] += 1


@cached_njit
def places(values, low, begin, out, first, last):
    """Find the new places of rows first to last - 1, from that of the first row of each code; `begin` moves on."""
    for i in range(first, last):
        code = np.intp(values[i] - low)
        out[i] = begin[code]
        begin[code] += 1


@cached_njit
def sort_within(offsets, values, rows):
    """Sort the rows of every key by insertion, values along with them, ties as they are: O(n) per row of n rows."""
    for k in range(len(offsets) - 1):
        for i in range(offsets[k] + 1, offsets[k + 1]):
            value, row = values[i], rows[i]
            j = i - 1
            while j >= offsets[k] and values[j] > value:
                values[j + 1], rows[j + 1] = values[j], rows[j]
                j -= 1
            values[j + 1], rows[j + 1] = value, row


@cached_njit
def in_order(tied, values):
    """Tell whether no value is below the one before it among rows tied with their predecessor; untie those above it."""
    for i in range(1, len(values)):
        if tied[i]:
            if values[i] < values[i - 1]:
                return False
            tied[i] = values[i] == values[i - 1]
    return True


@cached_njit
def digit_counts(keys, passes):
    """Count how often each digit occurs, for all passes at once."""
    counts = np.zeros((passes, 1 << DIGIT), np.int64)
    for key in keys:
        for p in range(passes):
            counts[p, (key >> (p * DIGIT)) & ((1 << DIGIT) - 1)] += 1
    return counts


@cached_njit
def radix_pass(keys, rows, counts, shift, keys_out, rows_out):
    """Sort keys and their rows by one digit: one pass."""
    place = np.zeros(1 << DIGIT, np.int64)
    for digit in range(1, 1 << DIGIT):
        place[digit] = place[digit - 1] + counts[digit - 1]
    for i in range(len(keys)):
        key = keys[i]
        digit = (key >> shift) & ((1 << DIGIT) - 1)
        keys_out[place[digit]] = key
        rows_out[place[digit]] = rows[i]
        place[digit] += 1


# ---- moving values between the order of the input and that of keys
@cached_njit
def gather(values, index, out, first, last):
    """Set out[i] = values[index[i]]."""
    for i in range(first, last):
        out[i] = values[index[i]]


@cached_njit
def scatter(values, index, out, first, last):
    """Set out[index[i]] = values[i]."""
    for i in range(first, last):
        out[index[i]] = values[i]


@cached_njit
def invert(index, out, first, last):
    """Set out[index[i]] = i."""
    for i in range(first, last):
        out[index[i]] = i
