"""The queue of the compiled form: a ring of a power of two, addressed by positions in the stream.

The index is unsigned, since numba tests a signed one for being negative: daba_lite 7.0 ns per slide against
6.2, flat_fit 16.7 against 11. Nothing is cleared: compiled partials hold no references.
"""

import numpy as np


def at(ring, i):
    return ring[np.uint64(i) & np.uint64(len(ring) - 1)]


def put(ring, i, value):
    ring[np.uint64(i) & np.uint64(len(ring) - 1)] = value


def drop(ring, i):
    pass
