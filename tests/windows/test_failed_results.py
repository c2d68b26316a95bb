"""Where computing a result fails: its error is raised, nothing else is lost, and nothing wrong is given."""

import pytest

import slidewise as sw

LARGEST = 2**63 - 1


def overflowing():
    """Two keys with a window that is due at 10; the sum of one leaves 64 bits."""
    w = sw.Window(sw.sum(), sw.time(10, every=10))
    for time, key, value in ((1, "a", LARGEST), (2, "a", 1), (3, "b", 7), (4, "c", 8)):
        assert w.push(value, time=time, key=key) == []
    return w


def test_the_results_of_other_keys_come_with_the_next_call():
    w = overflowing()
    with pytest.raises(OverflowError) as error:
        w.advance(10)
    assert "key='a'" in error.value.__notes__[0]
    first, second = w.push(5, time=12, key="b")
    assert (first.key, first.value, second.key, second.value) == ("b", 7, "c", 8)
    assert [(r.key, r.value, r.end) for r in w.flush()] == [("b", 5, 20)]


def test_what_is_owed_after_the_end_comes_with_another_flush():
    w = overflowing()
    with pytest.raises(OverflowError):
        w.flush()
    assert [r.value for r in w.flush()] == [7, 8]
    assert w.flush() == []


def test_what_is_owed_is_saved():
    w = overflowing()
    with pytest.raises(OverflowError):
        w.advance(10)
    later = overflowing().from_bytes(w.to_bytes())
    assert later.flush() == w.flush() != []


@pytest.mark.parametrize("window", [sw.rows(2), sw.rows_between(-1, 0), sw.time(1), sw.punctuation(lambda v: v == 5)])
@pytest.mark.parametrize("late", ["error", "revise"])
def test_a_stream_goes_on_after_a_sum_that_overflows(window, late):
    if late == "revise" and window.size_kind == "punctuation":
        pytest.skip("cannot be revised")
    w = sw.Window({"n": sw.count(), "s": sw.sum()}, window, late=late)
    given, errors = [], 0
    for time, value in enumerate((LARGEST, 5, 1, 2)):
        try:
            given += w.push(value, time=time)
        except OverflowError:
            errors += 1
    given += w.flush()
    assert errors == 1
    assert [r["s"] for r in given] == [LARGEST, 1 if window.size_kind == "punctuation" else 6, 3]


@pytest.mark.parametrize("window", [sw.rows(3), sw.rows(4, every=2), sw.time(3), sw.punctuation(lambda v: v == 5)])
def test_a_row_that_fails_halfway_ends_the_window(window):
    w = sw.Window({"n": sw.count(), "m": sw.max()}, window)
    w.push(1, time=1)
    saved = w.to_bytes()
    with pytest.raises(TypeError):
        for time, value in ((2, "a"), (3, 2), (4, 3)):  # cannot be compared
            w.push(value, time=time)
    for operation in (lambda: w.push(2, time=9), lambda: w.advance(9), w.flush, w.to_bytes):
        with pytest.raises(sw.InvalidInput, match=r"failed halfway.*TypeError"):
            operation()
    w = w.from_bytes(saved)
    results = w.push(2, time=2) + w.flush()
    assert results[-1].value == {"n": 2, "m": 2}
