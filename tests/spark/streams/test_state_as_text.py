"""State as text."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from slidewise.spark.streams.wire import from_text, to_text


@given(st.binary(max_size=600))
@example(bytes(range(256)) * 300)
def test_bytes_become_ascii_text_and_come_back(data):
    text = to_text(data)
    assert text.isascii()
    assert from_text(text) == data
    assert len(text) <= 10 + 8 * len(data) / 7 + 8


@pytest.mark.parametrize("size", range(20))
@pytest.mark.parametrize("byte", [b"\x00", b"\x7f", b"\x80", b"\xff"])
def test_few_bytes(size, byte):
    assert from_text(to_text(byte * size)) == byte * size
