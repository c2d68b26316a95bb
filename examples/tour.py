"""A tour of the core, in the terminal: `make tour`, or `python -m examples.tour`."""

from __future__ import annotations

import inspect
import math
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

import slidewise as sw


class Vwap(sw.Aggregation):
    identity = (0.0, 0.0)
    commutative = True

    # fmt: off
    @staticmethod
    def lift(price, size): return (price * size, size)
    @staticmethod
    def combine(a, b):     return (a[0] + b[0], a[1] + b[1])
    @staticmethod
    def lower(s):          return s[0] / s[1]
    # fmt: on


class Counted(sw.Aggregation):
    """The largest value, with every call of combine counted."""

    selective = commutative = True
    calls = 0

    @staticmethod
    def lift(x):
        return x

    @staticmethod
    def combine(a, b):
        Counted.calls += 1
        return b if b > a else a


# ---- 1
def moving_window() -> RenderableType:
    """A small array, and the window as it moves."""
    x = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3])
    n = 4
    lines = []
    for i, largest in enumerate(sw.rolling(x, sw.max(), sw.rows(n))):
        first = max(0, i - n + 1)
        line = Text(" ")
        for j, value in enumerate(x):
            inside = first <= j <= i
            best = "bold yellow" if value == largest else "cyan"
            line.append("[" if j == first else " ", "cyan")
            line.append(f"{value}", best if inside else "dim")
            line.append("]" if j == i else " ", "cyan")
        lines.append(line.append("   max ", "dim").append(f"{largest}", "bold yellow"))
    code = "sw.rolling(x, sw.max(), sw.rows(4))"
    return panel("1  A window moves over an array", Text(code, "green"), Text(), *lines)


# ---- 2
def three_windows() -> RenderableType:
    """One stream, three windows, event by event."""
    windows = {
        "last 3 rows: max": sw.Window(sw.max(), sw.rows(3)),
        "last 10 s: avg": sw.Window(sw.avg(), sw.time(10)),
        "each 10 s: n": sw.Window(sw.count(), sw.time(10, every=10)),
    }
    table = plain_table("t", "v", *windows)
    events = [(1, 20.0), (4, 23.0), (7, 21.0), (9, 20.0), (14, 26.0), (15, 24.0), (21, 22.0)]
    for time, value in events:
        results = [w.push(value, time=time) for w in windows.values()]
        table.add_row(f"{time}", f"{value:.0f}", *(", ".join(f"{r.value:.4g}" for r in rs) for rs in results))
    last = [w.flush() for w in windows.values()]
    table.add_row("end", "", *(", ".join(f"{r.value:.4g}" for r in rs) for rs in last), style="dim")
    code = "for result in window.push(value, time=t): ..."
    note = "Within 10 s a row waits until time moves on: another of its time may come."
    return panel("2  One stream, three windows, event by event", Text(code, "green"), table, Text(note, "dim"))


# ---- 3
def your_own() -> RenderableType:
    """An aggregation of one's own, and its laws checked."""
    lines = [line for line in inspect.getsource(Vwap).splitlines() if line.strip() and "# fmt" not in line]
    report = sw.check_aggregation(Vwap, [(10.0, 1.0), (20.0, 3.0), (12.5, 2.0)])
    s = sw.swag("daba_lite", Vwap())
    for trade in ((10.0, 1.0), (20.0, 3.0)):
        s.insert(trade)
    code = Syntax("\n".join(lines), "python", theme="ansi_dark", background_color="default")
    return panel(
        "3  Your own aggregation: three functions, and what is true of them",
        *beside(code, Text(f"{report}", "dim"), 3, 2),
        Text.assemble("1 at 10.0 and 3 at 20.0 have the price ", (f"{s.query()}", "bold yellow")),
    )


# ---- 4
def calls_per_slide(s: Any, n: int, slides: int) -> tuple[float, int]:
    """Calls of combine per slide (evict, insert, query) at a steady size: the average and the most."""
    values = [(i * 7919) % 10007 for i in range(n + slides)]
    for value in values[:n]:
        s.insert(value)
    s.query()
    counts = []
    for value in values[n:]:
        before = Counted.calls
        s.evict()
        s.insert(value)
        s.query()
        counts.append(Counted.calls - before)
    return sum(counts) / slides, max(counts)


def side_by_side(n: int = 1000) -> RenderableType:
    """The algorithms, with their calls of combine counted as they run."""
    table = plain_table("algorithm", "calls per slide", "", "slowest slide")
    structures = {
        name: sw.swag(name, Counted(), **({"capacity": n} if name == "b_int" else {}))
        for name in (
            "recalculate", "reactive", "b_int", "fiba", "two_stacks_lite", "daba_lite", "flat_fit", "slick_deque",
        )
    }  # fmt: skip
    worst = {}
    for name, s in structures.items():
        average, worst[name] = calls_per_slide(s, n, slides=2 * n)
        bar = "█" * max(1, round(3 * math.log2(1 + average)))
        style = "bold yellow" if name == "daba_lite" else ""
        table.add_row(Text(name, style), f"{average:,.1f}", Text(bar, "cyan"), Text(f"{worst[name]:,}", style))
    note = (
        f"Bars are logarithmic. two_stacks_lite stalls for {worst['two_stacks_lite']:,} calls when it flips; "
        f"daba_lite never makes more than {worst['daba_lite']} in one slide."
    )
    return panel(f"4  The algorithms side by side: calls of combine, counted at n = {n:,}", table, Text(note, "dim"))


# ---- 5
def out_of_order() -> RenderableType:
    """Late events find their place; any range is answered."""
    start = datetime(2024, 5, 1, 12, 0)
    s = sw.swag("fiba", sw.string_agg())
    arrivals = [(0, "s"), (2, "i"), (1, "l"), (6, "i"), (3, "d"), (4, "e"), (8, "e"), (5, "w"), (7, "s")]
    line = Text("arrive: ", "dim")
    for minute, letter in arrivals:
        s.insert(letter, time=start + timedelta(minutes=minute))
        line.append(f"{letter}", "bold").append(f"@12:{minute:02} ", "dim")
    some = s.query(start + timedelta(minutes=5), start + timedelta(minutes=8))
    return panel(
        "5  Out of order: fiba keeps values by their times",
        line,
        Text.assemble(
            "all: ", (s.query(), "bold yellow"), "    from 12:05 to 12:08: ", (some, "bold yellow"),
            f"    oldest {s.oldest:%H:%M}, youngest {s.youngest:%H:%M}",
        ),
    )  # fmt: skip


# ---- 6
def why() -> RenderableType:
    """The planner's choice, with its reason."""
    code = "sw.explain(sw.max(), sw.rows(1000))"
    return panel("6  Why this algorithm?", Text(code, "green"), sw.explain(sw.max(), sw.rows(1000)))


# ---- 7
def to_bytes_and_back() -> RenderableType:
    """State that survives a restart, and is refused where it does not belong."""
    w = sw.Window({"peak": sw.max(), "sd": sw.stddev()}, sw.rows(100))
    for i in range(150):
        w.push(math.sin(i))
    data = w.to_bytes()
    restored = sw.Window({"peak": sw.max(), "sd": sw.stddev()}, sw.rows(100)).from_bytes(data)
    same = all(w.push(math.sin(i)) == restored.push(math.sin(i)) for i in range(150, 400))
    try:
        sw.Window({"peak": sw.max(), "sd": sw.stddev()}, sw.rows(200)).from_bytes(data)
    except sw.StateError as error:
        refusal = str(error)
    return panel(
        "7  State to bytes and back, without pickle",
        Text(f"100 rows, two aggregations: {len(data):,} bytes. The next 250 results are the same: {same}."),
        Text(refusal, "red"),
    )


# ---- the frame
def panel(title: str, *content: RenderableType) -> Panel:
    return Panel(Group(*content), title=title, title_align="left", border_style="blue", padding=(0, 1))


def plain_table(*columns: str) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for k, column in enumerate(columns):
        table.add_column(column, justify="left" if k == 0 or not column else "right")
    return table


def beside(left: RenderableType, right: RenderableType, *ratio: int) -> list[RenderableType]:
    """Two things next to each other in these shares where there is room, else one below the other."""
    if CONSOLE.width < 110:
        return [left, right]
    grid = Table.grid(expand=True)
    for share in ratio:
        grid.add_column(ratio=share)
    grid.add_row(left, right)
    return [grid]


CONSOLE = Console()


def main() -> None:
    CONSOLE.print(Text("slidewise", "bold") + Text("  sliding-window aggregation, a tour", "dim"))
    CONSOLE.print(*beside(moving_window(), three_windows(), 2, 3), sep="\n")
    for stop in (your_own, side_by_side, out_of_order, why, to_bytes_and_back):
        CONSOLE.print(stop())


if __name__ == "__main__":
    main()
