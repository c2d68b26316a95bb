"""The command: as many random cases as one likes, from a seed.

Each target is a module: TARGETS names it, and Target says what it has.
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import Any, Protocol, cast

#: what can be tried, and the module that does so, which is imported where it is asked for
TARGETS = {
    "columns": "slidewise.fuzz.columns",
    "sql": "slidewise.fuzz.sql",
    "state": "slidewise.fuzz.state",
}


class Target(Protocol):
    """What the module of a target has."""

    #: one sentence for --help: what is drawn, and what it is held against
    ABOUT: str

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add what it takes beside --cases, --seed, --first and --keep-going, each with a default."""

    def open_target(self, given: argparse.Namespace) -> AbstractContextManager[Callable[[int], str | None]]:
        """Give a function that runs the case of a number in the run of given.seed, for as long as the context is open.

        It gives what is wrong, after a "#", and a program that shows it; None where all is right.
        """


def main(arguments: list[str] | None = None) -> int:
    """Run cases; 1 where one fails."""
    words = sys.argv[1:] if arguments is None else arguments
    name = next((word for word in words if word in TARGETS), "columns")
    target = cast(Target, import_module(TARGETS[name]))
    parser = argparse.ArgumentParser(
        prog="python -m slidewise.fuzz", description=f"Random cases from a seed. {name}: {target.ABOUT}"
    )
    parser.add_argument("target", nargs="?", choices=TARGETS, default=name, help="what to try (default columns)")
    parser.add_argument("--cases", type=int, default=1000, help="how many cases to run (default 1000)")
    parser.add_argument("--seed", type=int, default=0, help="what the cases are drawn from (default 0)")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the number of the first case (default 0)")
    parser.add_argument("--keep-going", action="store_true", help="report every failing case, not only the first")
    target.add_options(parser)
    given = parser.parse_args(words)

    failed = done = 0
    with _progress(given.cases) as (say, advance), target.open_target(given) as wrong_with:
        for number in range(given.first, given.first + given.cases):
            done += 1
            wrong = wrong_with(number)
            if wrong is not None:
                failed += 1
                say(f"# case {number}: {_again(parser, given, number)}\n{wrong}")
                if not given.keep_going:
                    break
            advance(failed)
    print(f"{done} cases, {failed} failed")
    return 1 if failed else 0


@contextmanager
def _progress(cases: int) -> Iterator[tuple[Callable[[str], None], Callable[[int], None]]]:
    """Tell how to print a line, and how to say that one more case is done, and how many have failed.

    A terminal shows a bar, where rich is installed.
    """
    try:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        yield print, lambda failed: None
        return
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[failed]} failed"), TimeRemainingColumn())
    with Progress(*columns, disable=not sys.stderr.isatty(), transient=True) as progress:
        task = progress.add_task("", total=cases, failed=0)
        say = functools.partial(progress.console.print, markup=False, highlight=False, soft_wrap=True)
        yield say, lambda failed: progress.update(task, advance=1, failed=failed)


def _again(parser: argparse.ArgumentParser, given: argparse.Namespace, number: int) -> str:
    """Write the command that runs one case again."""
    changed: dict[str, Any] = {"seed": given.seed, "first": number, "cases": 1}
    for option, value in vars(given).items():
        if option not in (*changed, "target", "keep_going") and value != parser.get_default(option):
            changed[option] = value
    options = (f"--{option.replace('_', '-')}{'' if v is True else f' {v}'}" for option, v in changed.items())
    return f"{parser.prog} {given.target} {' '.join(options)}"


if __name__ == "__main__":
    sys.exit(main())
