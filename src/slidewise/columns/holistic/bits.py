"""Bits of 64-bit words as single machine instructions."""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

ZERO, ONE, SIX, TWELVE, LAST = (np.uint64(v) for v in (0, 1, 6, 12, 63))
_OF_ZERO_TOO = ir.Constant(ir.IntType(1), 0)


@intrinsic
def trailing_zeros(typing_context, word):
    """Count the zeros below the lowest one; 64 for zero."""
    return types.uint64(types.uint64), lambda c, builder, s, args: builder.cttz(args[0], _OF_ZERO_TOO)


@intrinsic
def leading_zeros(typing_context, word):
    """Count the zeros above the highest one; 64 for zero."""
    return types.uint64(types.uint64), lambda c, builder, s, args: builder.ctlz(args[0], _OF_ZERO_TOO)


@intrinsic
def as_float(typing_context, word):
    """Take a word for the float whose bits it has."""
    return types.float64(types.int64), lambda c, builder, s, args: builder.bitcast(args[0], ir.DoubleType())


@intrinsic
def as_word(typing_context, number):
    """Return the bits of a float."""
    return types.int64(types.float64), lambda c, builder, s, args: builder.bitcast(args[0], ir.IntType(64))


@intrinsic
def ones(typing_context, word):
    """Count the ones."""
    return types.uint64(types.uint64), lambda c, builder, s, args: builder.ctpop(args[0])
