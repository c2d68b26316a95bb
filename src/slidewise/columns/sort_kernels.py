"""Kernels that look at order: is it sorted, where does a key begin, and sorts that keep ties in their order."""

import numpy as np

from slidewise.templates.cache import cached_njit

#: bits per pass of the radix sort
DIGIT = 8
#: Keys of at most so many rows are sorted by insertion.
SHORT_KEY = 50
#: Rows of a key that are at most so many ascending runs are merged.
FEW_RUNS = 8


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
    """Sort the rows of every key by their values, of which this is a copy, ties as they are.

    Short keys are sorted by insertion, those in order are left alone, those of a few ascending runs (rows of a few
    files, or of a few tasks, each in order) are merged, and others are sorted by radix. In a key rows stay in cache:
    1,000 keys of 1,000 rows in two runs take 12 ns a row with all that is around it, against 27 by radix over all, and
    in random order 17 against 30.
    """
    longest = 0
    for k in range(len(offsets) - 1):
        longest = max(longest, offsets[k + 1] - offsets[k])
    spare, spare_rows = np.empty(longest, values.dtype), np.empty(longest, rows.dtype)
    cuts = np.empty(FEW_RUNS + 1, np.int64)
    counts = np.empty(1 << DIGIT, np.int64)
    for k in range(len(offsets) - 1):
        begin, end = offsets[k], offsets[k + 1]
        if end - begin <= SHORT_KEY:
            for i in range(begin + 1, end):
                value, row = values[i], rows[i]
                j = i - 1
                while j >= begin and values[j] > value:
                    values[j + 1], rows[j + 1] = values[j], rows[j]
                    j -= 1
                values[j + 1], rows[j + 1] = value, row
            continue
        runs = 1
        for i in range(begin + 1, end):
            if values[i] < values[i - 1]:
                if runs < FEW_RUNS:
                    cuts[runs] = i - begin
                runs += 1
        if runs == 1:
            continue
        own, own_rows = values[begin:end], rows[begin:end]
        if runs <= FEW_RUNS:
            cuts[0] = 0
            while runs > 1:
                cuts[runs] = len(own)
                merged = 0
                for r in range(0, runs, 2):
                    i, middle, last = cuts[r], cuts[r + 1], cuts[min(r + 2, runs)]
                    cuts[merged] = i
                    merged += 1
                    j = middle
                    for out in range(i, last):
                        if j >= last or (i < middle and own[i] <= own[j]):
                            spare[out], spare_rows[out] = own[i], own_rows[i]
                            i += 1
                        else:
                            spare[out], spare_rows[out] = own[j], own_rows[j]
                            j += 1
                own[:], own_rows[:] = spare[: len(own)], spare_rows[: len(own)]
                runs = merged
        else:
            own -= own.min()  # where that wraps around, the digits are those of unsigned numbers, which is right
            highest = own.max() if own.min() >= 0 else np.int64(-1)
            shift, source, source_rows = 0, own, own_rows
            target, target_rows = spare[: len(own)], spare_rows[: len(own)]
            while shift < 64 and highest >> shift != 0:
                counts[:] = 0
                for value in source:
                    counts[(value >> shift) & ((1 << DIGIT) - 1)] += 1
                place = 0
                for digit in range(1 << DIGIT):
                    number = counts[digit]
                    counts[digit] = place
                    place += number
                for i in range(len(source)):
                    digit = (source[i] >> shift) & ((1 << DIGIT) - 1)
                    target[counts[digit]] = source[i]
                    target_rows[counts[digit]] = source_rows[i]
                    counts[digit] += 1
                source, source_rows, target, target_rows = target, target_rows, source, source_rows
                shift += DIGIT
            if (shift // DIGIT) % 2:
                own_rows[:] = spare_rows[: len(own)]


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
