"""The command: as many random cases as one likes, from a seed."""

from __future__ import annotations

import argparse
import sys

from slidewise.fuzz.check import ORACLES, case_of, difference, shrunk


def main(arguments: list[str] | None = None) -> int:
    """Run cases; 1 where one fails."""
    parser = argparse.ArgumentParser(
        prog="python -m slidewise.fuzz",
        description="Random tables and windows: with_columns against SQLite, plain Python and recalculation.",
    )
    parser.add_argument("--cases", type=int, default=1000, help="how many cases to run (default 1000)")
    parser.add_argument("--seed", type=int, default=0, help="what the cases are drawn from (default 0)")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the number of the first case (default 0)")
    parser.add_argument("--rows", type=int, default=30, help="the most rows of a table (default 30)")
    parser.add_argument("--oracle", choices=sorted(ORACLES), help="ask only this one (default: all)")
    parser.add_argument("--keep-going", action="store_true", help="report every failing case, not only the first")
    given = parser.parse_args(arguments)

    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    failed = done = 0
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[failed]} failed"), TimeRemainingColumn())
    with Progress(*columns, disable=not sys.stderr.isatty(), transient=True) as progress:
        task = progress.add_task("", total=given.cases, failed=0)
        for number in range(given.first, given.first + given.cases):
            case = case_of(given.seed, number, given.rows, given.oracle)
            done += 1
            if difference(case, given.oracle) is not None:
                failed += 1
                small = shrunk(case, lambda c: difference(c, given.oracle) is not None)
                options = f"--seed {given.seed} --first {number} --cases 1 --rows {given.rows}"
                options += f" --oracle {given.oracle}" if given.oracle else ""
                progress.console.print(
                    f"# case {number}: python -m slidewise.fuzz {options}\n"
                    f"# {difference(small, given.oracle)}\n{small.snippet}",
                    markup=False,
                    highlight=False,
                    soft_wrap=True,
                )
                if not given.keep_going:
                    break
            progress.update(task, advance=1, failed=failed)
    print(f"{done} cases, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
