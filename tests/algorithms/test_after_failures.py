"""What fails halfway is never answered from: no wrong number after an error."""

import math

import pytest

import slidewise as sw
from slidewise.registry import legal_algorithms

OPTIONS = {
    "flat_fat": {"capacity": 16},
    "b_int": {"capacity": 16},
    "sba": {"range": 8, "slide": 1},
    "pba": {"range": 8, "slide": 1},
}
NAMES = [e.name for e in legal_algorithms(sw.max()) if e.events]


@pytest.mark.parametrize("name", NAMES)
def test_a_combine_that_fails_leaves_no_wrong_answer(name):
    s = sw.swag(name, sw.max(), **OPTIONS.get(name, {}))
    for value in (1, 3, 2):
        s.insert(value)
    saved = s.to_bytes()
    with pytest.raises(TypeError):
        s.insert("a")  # cannot be compared with the others: found at once, or at the query
        s.query()
    with pytest.raises((TypeError, sw.InvalidInput)):
        s.query()
    again = s.from_bytes(saved)
    assert again.query() == 3
    again.insert(4)
    assert again.query() == 4


@pytest.mark.parametrize("name", ["daba_lite", "fiba", "reactive", "b_int"])
def test_a_spoiled_structure_says_why_and_cannot_be_saved(name):
    s = sw.swag(name, sw.max(), **OPTIONS.get(name, {}))
    with pytest.raises(TypeError):
        for value in (1, 2, 3, "a"):
            s.insert(value)
        s.query()
    for operation in (lambda: s.insert(1), s.evict, s.query, s.to_bytes):
        with pytest.raises(sw.InvalidInput, match=r"failed halfway.*TypeError.*from_bytes"):
            operation()


@pytest.mark.parametrize("name", NAMES)
def test_an_argument_that_lower_does_not_take_is_refused(name):
    s = sw.swag(name, sw.max(), **OPTIONS.get(name, {}))
    s.insert(1)
    with pytest.raises(sw.InvalidInput, match="max takes no argument, got 5"):
        s.query(5)


def test_a_range_is_not_taken_for_an_argument():
    s = sw.swag("daba", sw.max())
    s.insert(1, time=5)
    with pytest.raises(sw.InvalidInput, match=r"query.start, end., are answered by fiba"):
        s.query(1, 2)
    s = sw.swag("daba", sw.bloom_filter())
    s.insert("a")
    with pytest.raises(sw.InvalidInput, match="bloom_filter takes 1 argument, got 1, 2"):
        s.query(1, 2)


def test_an_own_lower_takes_its_arguments():
    class Scaled(sw.Aggregation):
        unary_lower = False

        @staticmethod
        def lift(x):
            return x

        @staticmethod
        def combine(a, b):
            return a + b

        @staticmethod
        def lower(s, factor=1, shift=0):
            return s * factor + shift

    s = sw.swag("daba_lite", Scaled)
    s.insert(2)
    s.insert(3)
    assert (s.query(), s.query(10), s.query(10, 1)) == (5, 50, 51)
    with pytest.raises(sw.InvalidInput, match="takes 2 arguments"):
        s.query(1, 2, 3)


@pytest.mark.parametrize("name", ["daba_lite", "fiba", "reactive", "b_int"])
def test_nan_is_no_time_to_evict_up_to(name):
    s = sw.swag(name, sw.sum(), **OPTIONS.get(name, {}))
    s.insert(1, time=1)
    with pytest.raises(sw.InvalidInput, match="nan"):
        s.evict(time=math.nan)
    assert len(s) == 1


@pytest.mark.parametrize("name", ["fiba", "reactive", "b_int"])
def test_the_ends_of_a_range(name):
    s = sw.swag(name, sw.sum(), **OPTIONS.get(name, {}))
    for time in (10, 20, 30):
        s.insert(time, time=time)
    assert (s.query(None, 20), s.query(20, None), s.query(None, None)) == (30, 50, 60)
    assert (s.query(None, 5), s.query(35, None)) == (None, None)
    for bounds in ((math.nan, 20), (10, math.nan)):
        with pytest.raises(sw.InvalidInput, match="nan"):
            s.query(*bounds)


@pytest.mark.parametrize("row", [3, (1,), (1, 2, 3), "ab", None])
def test_a_row_of_another_number_of_values_is_refused(row):
    s = sw.swag("daba_lite", sw.max_by())
    with pytest.raises(sw.InvalidInput, match="max_by takes 2 values per row: give a tuple of them"):
        s.insert(row)
    assert len(s) == 0


@pytest.mark.parametrize("write", [lambda s: s.new([1, "a"]), lambda s: s.update({1: 1, 2: "a"})])
def test_slots_that_cannot_be_combined_spoil_flat_fat(write):
    s = sw.swag("flat_fat", sw.max(), capacity=4)
    with pytest.raises(TypeError):
        write(s)
    with pytest.raises(sw.InvalidInput, match="failed halfway"):
        s.aggregate()
