"""Bytes as ASCII text, in which state travels between Spark and Python.

Spark sends binary values to Python as text of which every byte from 128 on takes two, and Python needs 9 ns for each
byte to read that; text of ASCII alone takes 0.2. So the highest bits of all bytes stand apart: 7 bits of each byte, one
after the other, then the highest bits, 8 to a byte, in the same way, and so on. Text is 8/7 as long as the bytes.
"""

from __future__ import annotations

import numpy as np

from slidewise.errors import StateError

#: Text begins with the number of bytes, in so many digits.
_DIGITS = 10
_LOW, _HIGH = np.uint8(0x7F), np.uint8(0x80)


def to_text(data: bytes) -> str:
    """Any bytes as text."""
    rest = np.frombuffer(data, np.uint8)
    parts = [rest & _LOW]
    while len(rest) > 7:  # the highest bits of 7 bytes are ASCII by themselves
        rest = np.packbits(rest & _HIGH, bitorder="little")
        parts.append(rest & _LOW)
    parts.append(np.packbits(rest & _HIGH, bitorder="little"))
    return f"{len(data):0{_DIGITS}}" + np.concatenate(parts).tobytes().decode("ascii")


def from_text(text: str) -> bytes:
    """The bytes again; other text is refused."""
    digits = text[:_DIGITS]
    sizes = [int(digits) if digits.isascii() and digits.isdigit() else -1]
    while sizes[-1] > 7:
        sizes.append(-(-sizes[-1] // 8))
    if sizes[0] < 0 or not text.isascii() or len(text) != _DIGITS + sum(sizes) + min(1, sizes[-1]):
        raise StateError("saved state is damaged: its text is not as long as it says, or not ASCII. Use another copy")
    codes = np.frombuffer(text.encode("ascii"), np.uint8)
    end = len(codes)
    data = codes[end - min(1, sizes[-1]) :]
    end -= len(data)
    for size in reversed(sizes):
        data = codes[end - size : end] | (np.unpackbits(data, count=size, bitorder="little") << np.uint8(7))
        end -= size
    return data.tobytes()
