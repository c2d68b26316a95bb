"""Operations as text: what is read, and what is said of a mistake."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tiers import examples

import slidewise as sw
from slidewise.tracing.operations import WORDS, Operation, read_operations


def read(given):
    return [(operation.name, *operation.arguments) for operation in read_operations(given)]


@pytest.mark.parametrize("text, expected", [
    ("insert 5", [("insert", 5)]),
    ("insert 5, insert 3, evict, query", [("insert", 5), ("insert", 3), ("evict",), ("query",)]),
    ("insert 4 -5 2.5", [("insert", 4), ("insert", -5), ("insert", 2.5)]),
    ("  insert 4;evict\n\n query ,", [("insert", 4), ("evict",), ("query",)]),
    ("insert 5 at 10", [("insert", 5, 10)]),
    ("insert 'a, b; c' at 'now'", [("insert", "a, b; c", "now")]),
    ("insert (1, 2) [3, (4, 5)] {'a': 1}", [("insert", (1, 2)), ("insert", [3, (4, 5)]), ("insert", {"a": 1})]),
    ('insert "it\'s" \'a\\\'b\'', [("insert", "it's"), ("insert", "a'b")]),
    ("insert None True inf", [("insert", None), ("insert", True), ("insert", math.inf)]),
    ("evict to 10", [("evict", 10)]),
    ("query 10 to 20", [("query", 10, 20)]),
    ("query 10 to 20 0.5, query 0.9", [("query", 10, 20, 0.5), ("query", 0.9)]),
    ("remove 7", [("remove", 7)]),
    ("query_last 3", [("query_last", 3)]),
])  # fmt: skip
def test_text(text, expected):
    assert read(text) == expected


def test_values_of_python():
    moment = object()
    given = [("insert", moment), ["insert", 5, moment], "evict", "insert 3 4", ("query", 1, 2)]
    assert read(given) == [
        ("insert", moment), ("insert", 5, moment), ("evict",), ("insert", 3), ("insert", 4), ("query", 1, 2),
    ]  # fmt: skip
    assert read(("insert", k) for k in (1, 2)) == [("insert", 1), ("insert", 2)]


@pytest.mark.parametrize("text, place, said", [
    ("insert 5, evit", "'evit' at column 11", "Did you mean 'evict'?"),
    ("push 5", "'push' at column 1", "There are: insert, evict, query, query_last, remove"),
    ("insert 5 evict", "'evict' at column 10", "A comma goes before each operation"),
    ("insert 5 evit", "'evit' at column 10", "Did you mean 'evict'? A comma goes before each operation"),
    ("insert 5, 3", "'3' at column 11", "Several are inserted without commas: insert 5 3"),
    ("insert abc", "'abc' at column 8", "Text is written in quotes: 'abc'"),
    ("insert 5+", "'5+' at column 8", "no value of Python, such as 5"),
    ("insert 'abc", "\"'\" at column 8", "it is not closed"),
    ("insert (1, 2", "'(' at column 8", "it is not closed"),
    ("insert", "'insert' at column 1", "insert takes values, as insert 4 5 3"),
    ("insert 4 5 at 3", "'3' at column 15", "one with its time, as insert 5 at 10"),
    ("insert 4 at", "'at' at column 10", "one with its time, as insert 5 at 10"),
    ("insert 4 to 3", "'3' at column 13", "one with its time, as insert 5 at 10"),
    ("evict 3", "'3' at column 7", "evict to 10 takes all of time 10 or older"),
    ("evict at 3", "'3' at column 10", "evict to 10 takes all of time 10 or older"),
    ("evict to", "'to' at column 7", "evict to 10 takes all of time 10 or older"),
    ("query 1 2 3 4", "'4' at column 13", "a range of times, as query 10 to 20"),
    ("remove", "'remove' at column 1", "as remove 10"),
    ("remove to 3", "'3' at column 11", "as remove 10"),
    ("insert 5,\n  evit, query", "'evit' at line 2, column 3", "Did you mean 'evict'?"),
])  # fmt: skip
def test_mistakes_in_text(text, place, said):
    with pytest.raises(sw.InvalidInput) as raised:
        read_operations(text)
    message = str(raised.value)
    assert place in message and said in message
    *_, shown, marks = message.splitlines()
    word = place.split(" at ")[0][1:-1]
    assert shown[marks.index("^") :].startswith(word)
    assert marks.count("^") == len(word)


@pytest.mark.parametrize("given, said", [
    ("", "there are no operations"),
    ([], "there are no operations"),
    (" , ;", "there are no operations"),
    (3, "as text or as an iterable of them, got 3"),
    ([3], "operation 1 is 3, and it must be text or a tuple"),
    (["evict", ()], "operation 2 is (), and it must be text or a tuple"),
    ([("insrt", 4)], "operation 1 is ('insrt', 4). Did you mean 'insert'?"),
    ([("insert",)], "operation 1 is ('insert',). insert takes values"),
    ([("evict", 1, 2)], "operation 1 is ('evict', 1, 2). evict takes the oldest"),
    (["evict", "evit"], "'evit' at column 1 of the operations: Did you mean 'evict'?"),
])  # fmt: skip
def test_mistakes_in_values(given, said):
    with pytest.raises(sw.InvalidInput) as raised:
        read_operations(given)
    assert said in str(raised.value)


literals = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.tuples(inner, inner)),
    max_leaves=4,
)
drawn = st.one_of(
    st.builds(lambda v: Operation("insert", (v,)), literals),
    st.builds(lambda v, t: Operation("insert", (v, t)), literals, literals),
    st.builds(lambda t: Operation("evict", t), st.one_of(st.just(()), st.tuples(literals))),
    st.builds(lambda a: Operation("query", a), st.one_of(st.just(()), st.tuples(literals, literals))),
    st.builds(lambda t: Operation("remove", (t,)), literals),
)


@given(st.lists(drawn, min_size=1, max_size=5), st.sampled_from([",", ", ", ";", "\n"]))
@examples(60)
def test_what_is_written_is_read_again(given, between):
    assert read_operations(between.join(map(str, given))) == given


@given(st.text(alphabet="insert evict query 5'(,;at to\n)["))
@examples(200)
def test_any_text_is_read_or_refused(text):
    try:
        found = read_operations(text)
    except sw.InvalidInput as error:
        assert "trace" in str(error)
    else:
        assert {operation.name for operation in found} <= set(WORDS)
