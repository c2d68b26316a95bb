"""Kernels that move values between the order of the input and that of keys."""

from slidewise.templates.cache import cached_njit


@cached_njit
def gather(values, index, out, first, last):
    """out[i] = values[index[i]]."""
    for i in range(first, last):
        out[i] = values[index[i]]


@cached_njit
def scatter(values, index, out, first, last):
    """out[index[i]] = values[i]."""
    for i in range(first, last):
        out[index[i]] = values[i]


@cached_njit
def invert(index, out, first, last):
    """out[index[i]] = i."""
    for i in range(first, last):
        out[index[i]] = i
