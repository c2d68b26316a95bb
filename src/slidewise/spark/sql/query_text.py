"""Query text: its tokens, what is to stand in place of parts of it, and errors that point into it.

A query is never generated anew from a tree: Spark gets the user's own words, but for what is replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from slidewise.errors import InvalidInput
from slidewise.spark.requirements import MissingRequirement

#: these stand behind a whole set operation
ORGANISING = ("ORDER BY", "SORT BY", "DISTRIBUTE BY", "CLUSTER BY", "LIMIT", "OFFSET")
#: the words that clauses of a SELECT begin with
CLAUSES = ("FROM", "WHERE", "GROUP BY", "HAVING", "WINDOW", "QUALIFY", *ORGANISING)
#: A character that shows nothing, not even in a repr (the combining grapheme joiner). What is computed for a window is
#: named by the user's own words, so that every message speaks of them, and by this: no column of the user's has it.
MARK = "\u034f"
_OPENING = {"(": ")", "[": "]", "{": "}"}
_QUOTED = ("STRING", "IDENTIFIER", "RAW_STRING", "NATIONAL_STRING", "HEX_STRING", "BYTE_STRING", "HINT")


class Token(NamedTuple):
    """A word, a sign or a literal, and where it stands."""

    kind: str
    start: int
    end: int
    #: as SQL compares it: keywords and names in capitals, and nothing for what is quoted
    word: str


class Span(NamedTuple):
    """Tokens from `first` up to, and without, `end`."""

    first: int
    end: int


@dataclass(frozen=True)
class Derived:
    """An expression made of parts of the query, by which messages call it."""

    text: str
    parts: tuple[Span, ...]


@dataclass(frozen=True)
class Edit:
    """What is to stand in place of a part of the text."""

    start: int
    end: int
    text: str


class QueryText:
    """A query and its tokens."""

    def __init__(self, query: str, arguments: Mapping[str, Any] | None = None, *, formatted: bool = False) -> None:
        #: formatted: the query is already written for `spark.sql(query, **views)`, where braces name a view
        self.query, self.formatted = query, formatted
        #: what :names in the query stand for
        self.arguments = arguments or {}
        self.tokens = _tokenize(query)
        self.partner = self._match_brackets()
        self.edits: list[Edit] = []

    def _match_brackets(self) -> dict[int, int]:
        """Match each bracket with its partner, both ways."""
        partner: dict[int, int] = {}
        open_brackets: list[int] = []
        for i, token in enumerate(self.tokens):
            if token.word in _OPENING:
                open_brackets.append(i)
            elif token.word in _OPENING.values():
                if not open_brackets or _OPENING[self.tokens[open_brackets[-1]].word] != token.word:
                    raise self.build_error(Span(i, i + 1), "this bracket was never opened")
                start = open_brackets.pop()
                partner[start], partner[i] = i, start
        if open_brackets:
            raise self.build_error(Span(open_brackets[-1], open_brackets[-1] + 1), "this bracket is never closed")
        return partner

    # ---- looking at tokens
    def word(self, i: int) -> str:
        """Read the word at an index; empty where there is none, or where it is quoted."""
        return self.tokens[i].word if 0 <= i < len(self.tokens) else ""

    def is_name(self, i: int) -> bool:
        """Tell whether a token can be the name of something: quoted, or a word."""
        if not 0 <= i < len(self.tokens):
            return False
        return self.tokens[i].kind == "IDENTIFIER" or self.word(i)[:1].isalpha() or self.word(i)[:1] == "_"

    def name(self, i: int) -> str:
        """Read the name that a token is, without backticks, in the way names are compared."""
        text = self.raw(Span(i, i + 1))
        if self.tokens[i].kind == "IDENTIFIER":
            text = text[1:-1].replace("``", "`")
        return text.casefold()

    def find(self, span: Span, *words: str) -> int | None:
        """Find the first of these words outside brackets."""
        i = span.first
        while i < span.end:
            if self.word(i) in words:
                return i
            i = self.skip(i)
        return None

    def skip(self, i: int) -> int:
        """Find the next token outside brackets that open here."""
        return self.partner[i] + 1 if self.word(i) in _OPENING else i + 1

    def split(self, span: Span, separator: str = ",") -> list[Span]:
        """Split a span at separators outside brackets."""
        parts, first, i = [], span.first, span.first
        while i < span.end:
            if self.word(i) == separator:
                parts.append(Span(first, i))
                first = i + 1
            i = self.skip(i)
        return [*parts, Span(first, span.end)] if span.end > span.first else []

    def find_text(self, text: str, span: Span) -> Span | None:
        """Find a text, but for space, capitals and backticks; as an alias only where it is nothing else."""
        try:
            wanted = [_normalize(text[token.start : token.end]) for token in _tokenize(text)]
        except InvalidInput:
            return None
        given = [_normalize(self.raw(Span(i, i + 1))) for i in range(*span)]
        width = len(wanted)
        found = [span.first + k for k in range(len(given) - width + 1) if given[k : k + width] == wanted]
        if not wanted or not found:
            return None
        first = min(found, key=lambda i: (self.word(i - 1) in ("AS", ")"), i))
        return Span(first, first + width)

    # ---- texts
    def find_offsets(self, span: Span) -> tuple[int, int]:
        """Find where tokens begin and end in the text."""
        return self.tokens[span.first].start, self.tokens[span.end - 1].end

    def raw(self, span: Span) -> str:
        """Read the text as the user wrote it."""
        start, end = self.find_offsets(span)
        return self.query[start:end]

    def build_key(self, span: Span) -> str:
        """Build a key that expressions share if they differ by space only; Spark can be told to heed capitals."""
        return " ".join(self.raw(Span(i, i + 1)) for i in range(*span))

    def write(self, span: Span, more: Iterable[Edit] = ()) -> str:
        """Write the text with its edits, and these ones, for Spark."""
        if span.first >= span.end:
            return ""
        start, end = self.find_offsets(span)
        return self.write_between(start, end, more)

    def write_between(self, start: int, end: int, more: Iterable[Edit] = ()) -> str:
        """Write the text between two offsets, with its edits. Where edits cover each other, the outermost counts."""
        inside = [e for e in (*more, *self.edits) if start <= e.start and e.end <= end]
        out, at = [], start
        for edit in sorted(inside, key=lambda e: (e.start, -e.end)):
            if edit.start >= at:
                out += [self._escape_braces(at, edit.start), edit.text]
                at = edit.end
        return "".join([*out, self._escape_braces(at, end)])

    def _escape_braces(self, start: int, end: int) -> str:
        text = self.query[start:end]
        return text if self.formatted else text.replace("{", "{{").replace("}", "}}")

    # ---- errors
    def place_error(self, error: InvalidInput, span: Span) -> InvalidInput:
        """Add the place of a span to an error, unless it has a place already."""
        return error if "\nline " in str(error) else self.build_error(span, str(error))

    def build_error(self, span: Span, message: str) -> InvalidInput:
        """Build an error that shows where in the query it is."""
        start, end = self.find_offsets(Span(span.first, max(span.end, span.first + 1)))
        message = message.replace(MARK, "")
        before = self.query[:start]
        line = before.count("\n") + 1
        column = start - (before.rfind("\n") + 1)
        shown = self.query.splitlines()[line - 1]
        width = max(1, min(end - start, len(shown) - column))
        return InvalidInput(f"{message}\nline {line}, column {column + 1}:\n{shown}\n{' ' * column}{'^' * width}")


def _normalize(text: str) -> str:
    return text.strip("`").casefold()


def _tokenize(query: str) -> list[Token]:
    try:
        from sqlglot.dialects.spark import Spark
        from sqlglot.errors import TokenError
    except ImportError:
        raise MissingRequirement(
            "slidewise.spark.sql needs sqlglot, and it is not installed: pip install 'slidewise[spark]'"
        ) from None
    try:
        made = Spark().tokenize(query)
    except TokenError as error:
        raise InvalidInput(f"this is not SQL that can be read: {error}") from None
    tokens: list[Token] = []
    for token in made:
        kind, start, end = token.token_type.name, token.start, token.end + 1
        if tokens and tokens[-1].start == start:  # 1L is given as 1, a cast and a type
            continue
        word = "" if kind in _QUOTED else " ".join(query[start:end].split()).upper()
        tokens.append(Token(kind, start, end, word))
    return tokens
