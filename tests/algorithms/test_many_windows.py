"""Structures that answer every window that ends with the youngest value, against recalculation."""

import random

import pytest
from support.aggregations import Concat, Highest

import slidewise as sw
from slidewise.registry.algorithms import ALGORITHMS
from slidewise.templates.checking import agree

ANSWERING = [e.name for e in ALGORITHMS if e.suffixes]
OPTIONS = {"b_int": {"capacity": 64}}
AGGREGATIONS = {"concat": Concat, "max": sw.max, "highest": Highest, "sum": sw.sum, "first": sw.first, "by": sw.max_by}


def values_for(name, rng):
    if name == "concat":
        return rng.choice("abc")
    value = rng.choice([None, *range(6)]) if name != "highest" else rng.randrange(6)
    return (rng.randrange(100), value) if name == "by" else value


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", AGGREGATIONS)
@pytest.mark.parametrize("algorithm", ANSWERING)
def test_every_window_at_any_time(algorithm, name):
    aggregation = AGGREGATIONS[name]()
    if algorithm == "slick_deque" and not aggregation.selective:
        pytest.skip("answers them for selective aggregations only")
    s = sw.swag(algorithm, aggregation, **OPTIONS.get(algorithm, {}))
    rng, held = random.Random(9), []
    for step in range(600):
        if held and (len(held) == 40 or rng.random() < 0.4):
            s.evict()
            held.pop(0)
        else:
            held.append(values_for(name, rng))
            s.insert(held[-1])
        for k in {0, len(held), *(rng.randrange(45) for _ in range(3))}:
            expected = sw.swag("recalculate", aggregation)
            for value in held[len(held) - min(k, len(held)) :]:
                expected.insert(value)
            assert agree(s.query_last(k), expected.query()), (step, k)
        s.check(held)
        if step % 100 == 99:
            s = s.from_bytes(s.to_bytes())


@pytest.mark.parametrize("algorithm", [name for name in ANSWERING if name != "b_int"])
def test_what_is_no_number_of_values_is_refused(algorithm):
    s = sw.swag(algorithm, sw.max())
    s.insert(3)
    for k in (-1, 1.5, None):
        with pytest.raises(sw.InvalidInput, match="from 0 on, got"):
            s.query_last(k)
    assert (s.query_last(9), s.query_last(0)) == (3, None)


def test_a_deque_with_an_inverse_has_one_total():
    s = sw.swag("slick_deque", sw.sum())
    s.insert(3)
    with pytest.raises(sw.IllegalPair, match=r"not selective.* Use flat_fit"):
        s.query_last(1)
