"""Operations: what is done with a structure, as text or as Python values.

An operation is a word with its values: insert 5, insert 4 5 3, insert 5 at 10 (its time); evict, evict to 10 (all of
that time or older); query, query 10 to 20 (a range of times), query 0.9 (an argument), query_last 3; remove 10.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from slidewise.errors import InvalidInput
from slidewise.suggest import suggest

#: the fewest and the most arguments, and what they are
_TAKES = {
    "insert": (1, 2, "insert takes values, as insert 4 5 3, or one with its time, as insert 5 at 10"),
    "evict": (0, 1, "evict takes the oldest value, whatever it is; evict to 10 takes all of time 10 or older"),
    "query": (0, 3, "query takes nothing, a range of times, as query 10 to 20, or an argument of the aggregation"),
    "query_last": (1, 2, "query_last takes how many of the youngest values, as query_last 3"),
    "remove": (1, 1, "remove takes the time of the values that leave, as remove 10"),
}
WORDS = tuple(_TAKES)
#: what stands before a time
_JOINED = {"insert": "at", "evict": "to", "query": "to"}
_EXAMPLE = 'Write operations as "insert 5, insert 3 2, insert 4 at 10, evict, query"'


@dataclass(frozen=True)
class Operation:
    """One operation: its name, and its arguments as the structure takes them."""

    name: str
    arguments: tuple[Any, ...] = ()

    @property
    def asks(self) -> bool:
        """Whether it asks for a result, and changes no window."""
        return self.name in ("query", "query_last")

    def __str__(self) -> str:
        values = [repr(value) for value in self.arguments]
        if self.name == "evict":
            values = ["to", *values] if values else []
        elif self.name in _JOINED and len(values) > 1:
            values.insert(1, _JOINED[self.name])
        return " ".join([self.name, *values])


def read_operations(given: str | Iterable[Any]) -> list[Operation]:
    """Read operations from text, or from ("insert", 5), ("insert", 5, time), "evict", ("query", start, end), ...

    >>> [str(each) for each in read_operations("insert 4 5, insert 3 at 10, evict to 10, query")]
    ['insert 4', 'insert 5', 'insert 3 at 10', 'evict to 10', 'query']
    >>> [str(each) for each in read_operations([("insert", 4), ("insert", 3, 10), "evict"])]
    ['insert 4', 'insert 3 at 10', 'evict']
    """
    if isinstance(given, str):
        found = list(_read_text(given))
    else:
        if not isinstance(given, Iterable):
            raise InvalidInput(f"trace takes operations as text or as an iterable of them, got {given!r}. {_EXAMPLE}")
        found = [operation for k, each in enumerate(given, 1) for operation in _read_one(each, k)]
    if not found:
        raise InvalidInput(f"trace: there are no operations. {_EXAMPLE}")
    return found


# ---- Python values
def _read_one(each: Any, number: int) -> Iterator[Operation]:
    if isinstance(each, str):
        yield from _read_text(each)
        return
    if not isinstance(each, tuple | list) or not each or not isinstance(each[0], str):
        raise InvalidInput(
            f"trace: operation {number} is {each!r}, and it must be text or a tuple, as 'evict' or ('insert', 5)"
        )
    name, *arguments = each
    if name not in WORDS:
        raise InvalidInput(f"trace: operation {number} is {each!r}. {suggest(name, WORDS)}")
    least, most, takes = _TAKES[name]
    if not least <= len(arguments) <= most:
        raise InvalidInput(f"trace: operation {number} is {each!r}. {takes}")
    yield Operation(name, tuple(arguments))


# ---- text
@dataclass(frozen=True)
class _Token:
    text: str
    start: int


def _read_text(text: str) -> Iterator[Operation]:
    for tokens in _split(text):
        word, *rest = tokens
        if word.text not in WORDS:
            said = suggest(word.text, WORDS)
            if _is_literal(word.text):
                said = f"a value says not what to do with it. Several are inserted without commas: insert 5 {word.text}"
            raise _mistake(text, word, said)
        yield from _read_step(text, word, rest)


def _read_step(text: str, word: _Token, rest: list[_Token]) -> Iterator[Operation]:
    name = word.text
    least, most, takes = _TAKES[name]
    joint = next((k for k, token in enumerate(rest) if token.text in ("at", "to")), None)
    values = [_read_literal(text, token) for k, token in enumerate(rest) if k != joint]
    if name == "insert" and joint is None and values:
        yield from (Operation(name, (value,)) for value in values)
        return
    if joint is None:
        right = least <= len(values) <= most and (name != "evict" or not values)
    else:
        first = 0 if name == "evict" else 1
        right = rest[joint].text == _JOINED.get(name) and joint == first and first < len(values) <= most
    if not right:
        raise _mistake(text, rest[-1] if rest else word, takes)
    yield Operation(name, tuple(values))


def _read_literal(text: str, token: _Token) -> Any:
    if token.text.lower() in ("nan", "inf", "-inf"):
        return float(token.text)
    if _is_literal(token.text):
        return ast.literal_eval(token.text)
    said = "it is no value of Python, such as 5, -2.5, 'text', None or (1, 2)"
    if difflib.get_close_matches(token.text, WORDS, 1):
        asked = f"{suggest(token.text, WORDS)} " if token.text not in WORDS else ""
        said = f"it is no value. {asked}A comma goes before each operation"
    elif token.text.isidentifier():
        said = f"it is no value of Python. Text is written in quotes: {token.text!r}"
    raise _mistake(text, token, said)


def _is_literal(text: str) -> bool:
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _mistake(text: str, token: _Token, said: str) -> InvalidInput:
    """Make the error about a part of the text, with its place."""
    line = text.count("\n", 0, token.start) + 1
    begin = text.rfind("\n", 0, token.start) + 1
    end = text.find("\n", token.start)
    shown = text[begin : end if end >= 0 else len(text)]
    column = token.start - begin
    left = max(0, column - 50)
    marked = f"{shown[left : column + 40]}\n    {' ' * (column - left)}{'^' * len(token.text)}"
    place = f"line {line}, column {column + 1}" if "\n" in text.strip() else f"column {column + 1}"
    return InvalidInput(f"trace: {token.text!r} at {place} of the operations: {said}\n    {marked}")


def _split(text: str) -> Iterator[list[_Token]]:
    """Cut text into steps at commas, semicolons and new lines, and steps into words and literals."""
    step: list[_Token] = []
    start = i = 0

    def end_token() -> None:
        if i > start:
            step.append(_Token(text[start:i], start))

    while i < len(text):
        character = text[i]
        if character in ",;\n" or character.isspace():
            end_token()
            if character in ",;\n" and step:
                yield step
                step = []
            i += 1
            start = i
        elif character in "'\"([{":
            i = _find_end(text, i)
        else:
            i += 1
    end_token()
    if step:
        yield step


def _find_end(text: str, start: int) -> int:
    """Find the end of a string or of brackets that begin here."""
    closing = {"(": ")", "[": "]", "{": "}"}
    stack: list[str] = []
    quote = ""
    i = start
    while i < len(text):
        character = text[i]
        if quote:
            if character == "\\":
                i += 1
            elif character == quote:
                quote = ""
        elif character in "'\"":
            quote = character
        elif character in closing:
            stack.append(closing[character])
        elif stack and character == stack[-1]:
            stack.pop()
        i += 1
        if not quote and not stack:
            return i
    raise _mistake(text, _Token(text[start], start), "it is not closed")
