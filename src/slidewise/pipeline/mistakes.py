"""Mistakes in a pipeline's file: each with its place, and all of them at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from slidewise.errors import InvalidInput

#: where a value stands in a definition: ("features", "spent", "over", 0)
Path = tuple[str | int, ...]


@dataclass(frozen=True, order=True)
class FilePlace:
    """A place in a file; lines and columns count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Mistake:
    """What is wrong, and where.

    >>> print(Mistake("there is no aggregation 'summ'", ("features", "spent"), FilePlace("card.yaml", 7, 5)))
    card.yaml:7:5: features.spent: there is no aggregation 'summ'
    """

    message: str
    path: Path = ()
    place: FilePlace | None = None
    #: whether the key itself is wrong, and not its value
    of_key: bool = False

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place is not None else ""
        name = show_path(self.path)
        return f"{where}{name}: {self.message}" if name else f"{where}{self.message}"


class InvalidPipeline(InvalidInput):
    """A definition that cannot be run. `mistakes` has all that were found.

    >>> import slidewise as sw
    >>> try: sw.Pipeline(name="cards", features={"spent": {"summ": "amount", "over": "3 rows"}})
    ... except sw.InvalidInput as error: print(error)
    features.spent.summ: there is no aggregation 'summ'. Did you mean 'sum'?
    """

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        found = list(mistakes)
        self.mistakes: Sequence[Mistake] = sorted(
            found, key=lambda m: (m.place is None, m.place or FilePlace("", 0, 0))
        )
        super().__init__("\n".join(map(str, self.mistakes)))


def show_path(path: Path) -> str:
    """Write a path as users read it.

    >>> show_path(("features", "spent", "over", 0))
    'features.spent.over[0]'
    """
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
