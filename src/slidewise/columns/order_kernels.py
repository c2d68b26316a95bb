"""Kernels that look at order: is it sorted, where does a key begin, and a counting sort."""

import numpy as np

from slidewise.templates.cache import cached_njit


@cached_njit
def ascending(values):
    """Whether no value is below the one before it."""
    for i in range(1, len(values)):
        if values[i] < values[i - 1]:
            return False
    return True


@cached_njit
def offsets(codes, number):
    """Where each code begins, for codes that ascend."""
    out = np.zeros(number + 1, np.int64)
    for code in codes:
        out[code + 1] += 1
    for k in range(number):
        out[k + 1] += out[k]
    return out


@cached_njit
def counting_sort(codes, number):
    """The stable permutation that sorts the codes, and where each begins in it."""
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
