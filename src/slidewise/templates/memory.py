"""The Python half of state that outlives a call: a structure of numbers in memory that compiled code reads and writes.

`CompiledStructure` takes over the partials of an interpreted structure, and gives them back: to the bit what that would
hold had it gone on itself, so that saved state tells nothing of it. A queue grows as interpreted ones do, by doubling
while it is short and by pages from then on, of which none is ever copied: the worst event stays constant.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NamedTuple, get_type_hints

import numpy as np

from slidewise.aggregations import ranks
from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.trial import partial_dtype
from slidewise.registry.entries import AlgorithmEntry
from slidewise.templates import slide, sorted_rows, storage
from slidewise.templates.compile import kernel
from slidewise.templates.interpret import Swag
from slidewise.templates.present import make_optional, optional_dtype

#: elements of a page, and the fewest that a queue has room for
PAGE, FEWEST = 1024, 16
_SHIFT = PAGE.bit_length() - 1
#: a position that is never reached
_NEVER = 1 << 62
#: of structures that have no pages, or no ring
_NONE: Any = ()
_NOTHING = np.zeros(0, np.int64)
_QUEUE: dict[str, Any] = {"at": slide.at, "put": slide.put, "append": slide.put, "drop": slide.drop}


class Form(NamedTuple):
    """What a kernel of one event is made of."""

    module: ModuleType
    #: of optional partials, of this type, which are tuples without the first field or numbers
    op: Aggregation
    partial: np.dtype
    tuples: bool
    more: dict[str, Any]

    @property
    def width(self) -> int:
        """How many words a partial has."""
        return self.partial.itemsize // 8


class Kernel(NamedTuple):
    """What runs for one event, and how its state is laid out."""

    #: takes the address of a block and a row; None with a reason in its first word
    run: Callable[..., Any]
    form: Form
    #: the fields by name: their kind, and the word at which they begin
    fields: dict[str, tuple[str, int]]
    words: int
    #: the type of times, where it takes any: "i8" or "f8"
    moments: str | None


class Operations(NamedTuple):
    """The operations of a structure one by one: those of `slide.insert_value` and the two after it."""

    insert: Kernel
    evict: Callable[[int], int]
    query: Callable[[int], Any]


@functools.lru_cache(maxsize=256)
def compile_slide(entry: AlgorithmEntry, op: Aggregation, value: str, moment: str | None) -> Kernel | None:
    """Compile one slide of a window of rows, or of time, for values "f8" or "i8"; None where that cannot be.

    Seconds the first time, milliseconds where numba's cache has it.
    """
    number = np.zeros(1, value).item(0)
    if moment is None:
        return _compile(slide.slide_rows, entry, op, value, (0, 1, number))
    return _compile(slide.slide_time, entry, op, value, (0, np.zeros(1, moment).item(0), 1, number), moment)


@functools.lru_cache(maxsize=256)
def compile_operations(entry: AlgorithmEntry, op: Aggregation, value: str) -> Operations | None:
    """Compile the operations of a structure, for values "f8" or "i8"; None where that cannot be."""
    insert = _compile(slide.insert_value, entry, op, value, (0, 1, np.zeros(1, value).item(0)))
    others = [_compile(driver, entry, op, value, (0,)) for driver in (slide.evict_value, slide.query_value)]
    if insert is None or None in others:
        return None
    return Operations(insert, *(kernel.run for kernel in others if kernel is not None))


def _compile(
    driver: Any, entry: AlgorithmEntry, op: Aggregation, value: str, args: tuple[Any, ...], moment: str | None = None
) -> Kernel | None:
    form = _form_of_ranks(op, value) if op.order_statistic else _form_of_partials(entry, op, value)
    if form is None:
        return None
    hints = get_type_hints(slide.Header) | get_type_hints(form.module.State)
    kinds = {name: kind.__name__ for name, kind in hints.items()}
    words = {"Partial": form.width, "Queue": 4, "Moments": 4, "Sorted": 2}
    fields, at = {}, 0
    for name, kind in kinds.items():
        fields[name] = (kind, at)
        at += words.get(kind, 1)
    layout = " ".join(f"{name}:{kind}" for name, kind in kinds.items())
    run = kernel(driver, form.module, form.op, form.partial, args, {**_QUEUE, **form.more}, layout)
    if run is None:
        return None
    entry_point = run.overloads[run.signatures[0]].entry_point  # whose types are known: 0.1 us less
    return Kernel(entry_point, form, fields, at, moment)


def _form_of_partials(entry: AlgorithmEntry, op: Aggregation, value: str) -> Form | None:
    column = np.ones(1, value)
    plain = op.compiled((column,), 1)
    if plain is None:
        return None
    number = partial_dtype(plain, (column,))
    takes = slide.takes_any if op.selective else slide.takes_finite if value == "f8" else slide.takes_small
    made, partial = make_optional(plain, number), optional_dtype(number)
    return Form(entry.module, made, partial, bool(number.names), {"takes": takes})


def _form_of_ranks(op: Any, value: str) -> Form:
    rule, _ = op.rule_and_fraction
    made = op.variant(
        identity=(0, np.zeros(1, value).item(0)),
        lift=sorted_rows.lift_float if value == "f8" else sorted_rows.lift_integer,
        **{name: getattr(sorted_rows, name) for name in ("combine", "lower", "defined", "inverse")},
    )
    finish = sorted_rows.interpolate if op.interpolates else sorted_rows.pick
    more: Any = {"takes": sorted_rows.takes, "position": getattr(ranks, rule), "finish": finish}
    return Form(sorted_rows, made, optional_dtype(np.dtype(value)), False, more)


class CompiledStructure:
    """An interpreted structure's partials as numbers in memory, from `take_over` to `give_back`."""

    __slots__ = ("address", "block", "kernel", "pages", "ring", "run", "slots", "spare", "swag", "table", "words")

    def __init__(self, kernel: Kernel, swag: Swag) -> None:
        self.kernel, self.swag, self.run = kernel, swag, kernel.run
        #: the fields, and the tables of rings: of each queue the address of its only page
        self.words = np.zeros(kernel.words + 2, np.int64)
        self.address: int = self.words.ctypes.data
        #: how many elements a ring has, and all queues one after the other; 0: they are in pages
        self.ring = 0
        self.block = _NOTHING
        #: the pages in use by their number, of each queue, some that are free, and the table of each queue
        self.pages: dict[int, list[np.ndarray]] | None = None
        self.spare: list[list[np.ndarray]] = _NONE
        self.table: list[np.ndarray] = _NONE
        #: how many slots the interpreted queue has, where it is a ring
        self.slots: int | None = None

    # ---- from an interpreted structure and back
    @classmethod
    def take_over(
        cls, kernel: Kernel, swag: Swag, times: Sequence[Any] | None = None, **header: Any
    ) -> CompiledStructure | None:
        """Take the values of a structure, and the times of its rows; None where one of them is no such number. O(n).

        The structure is not looked at again before `give_back`.
        """
        made = (OfSortedRows if kernel.form.module is sorted_rows else cls)(kernel, swag)
        moments: np.ndarray | None = None
        if kernel.moments is not None:
            moments, reach = (_encode_numbers(x, kernel.moments) for x in (times or (), [header["reach"]]))
            if moments is None or reach is None:
                return None
            header["reach"] = reach.view(np.int64)[0]
        for name, value in {"limit": _NEVER, **header}.items():
            made[name] = value
        return made if made._read(moments) else None

    def _read(self, moments: np.ndarray | None) -> bool:
        """Read the interpreted structure; False where that cannot be."""
        state: Any = self.swag
        front, end = state.front, state.end
        self.slots = len(state.queue) - 1 if storage.is_ring(state.queue) else None
        places = [(name, at) for name, (kind, at) in self.kernel.fields.items() if kind == "Partial"]
        held = [storage.at(state.queue, i) for i in range(front, end)]
        records = self._encode([*held, *(getattr(state, name) for name, _ in places)])
        if records is None:
            return False
        for name in self._numbers():
            self[name] = getattr(state, name)
        for (_, at), record in zip(places, records[len(held) :], strict=True):
            self.words[at : at + self.kernel.form.width] = np.array(record).reshape(1).view(np.int64)
        largest = _find_largest(records)
        if self.kernel.form.more["takes"] is slide.takes_small and largest * len(held) > slide.FARTHEST:
            return False  # nulls and rows that leave combine what is held, too
        self["most"], self["magnitude"] = len(held), min(largest, slide.FARTHEST)
        self._fill(front, records[: len(held)], moments)
        return True

    def release_plain(self) -> None:
        """Let go of the values that the interpreted structure has: they are here, and it gets them back. O(1)."""
        self.swag.queue = storage.new_pages()  # type: ignore[attr-defined]

    def give_back(self) -> list[Any]:
        """Let the interpreted structure go on from here; returns the times of its rows. O(n)."""
        front, end = int(self["front"]), int(self["end"])
        self._write(self._decode(self._list(0, front, end).view(self.kernel.form.partial)))
        if self.kernel.moments is None:
            return []
        moments: list[Any] = self._list(1, front, end).view(self.kernel.moments).tolist()
        return moments

    def _write(self, values: list[Any]) -> None:
        """Write the interpreted structure, of which these are the elements of the queue."""
        state: Any = self.swag
        for name in self._numbers():
            setattr(state, name, int(self[name]))
        for name, (kind, at) in self.kernel.fields.items():
            if kind == "Partial":
                record = self.words[at : at + self.kernel.form.width].copy().view(self.kernel.form.partial)
                setattr(state, name, self._decode(record)[0])
        most = int(self["most"])
        long = most > storage.MOST or self.slots is None
        state.queue = storage.lay_out(state.front, values, None if long else max(self.slots or 0, most))

    def _numbers(self) -> list[str]:
        """List the fields of the algorithm's own that are integers."""
        return [name for name in self.kernel.form.module.State._fields if self.kernel.fields[name][0] == "int"]

    def __getitem__(self, name: str) -> Any:
        return self.words[self.kernel.fields[name][1]]

    def __setitem__(self, name: str, value: Any) -> None:
        self.words[self.kernel.fields[name][1]] = value

    def __len__(self) -> int:
        return int(self["end"] - self["front"])

    def __reduce__(self) -> Any:
        raise TypeError("compiled state is where its addresses say: give it back before it is copied")

    def _encode(self, partials: list[Any]) -> np.ndarray | None:
        """Write optional partials as records; None where one has other types than their fields."""
        dtype = self.kernel.form.partial
        found = np.zeros(len(partials), dtype)
        there = np.array([p is not None for p in partials], bool)
        values = [p for p in partials if p is not None]
        found["f0"] = there
        columns = list(zip(*values, strict=True)) if self.kernel.form.tuples else [values]
        if not values:
            return found
        for name, column in zip((dtype.names or ())[1:], columns, strict=True):
            numbers = _encode_numbers(column, dtype[name].str[1:])
            if numbers is None:
                return None
            found[name][there] = numbers
        return found

    def _decode(self, records: np.ndarray) -> list[Any]:
        names = (records.dtype.names or ())[1:]
        columns = [records[name].tolist() for name in names]
        values = list(zip(*columns, strict=True)) if self.kernel.form.tuples else columns[0]
        there = records["f0"]
        if there.all():
            return values
        return [value if is_there else None for value, is_there in zip(values, there.tolist(), strict=True)]

    # ---- room
    def grow(self) -> None:
        """Make room for one row more. O(1): at most PAGE rows move, whatever the structure comes to hold.

        Of the table of pages, a word for each, all move where it doubles: of a million rows a thousand.
        """
        front, end = int(self["front"]), int(self["end"])
        if self.pages is None:
            self._fill(front, *(self._list(k, front, end) for k in range(len(self._widths()))))
            return
        for number in [n for n in self.pages if n < front >> _SHIFT]:
            self.spare.append(self.pages.pop(number))
        self._add_page(end >> _SHIFT)
        del self.spare[1:]

    def _widths(self) -> list[int]:
        return [8 * self.kernel.form.width, *([8] if self.kernel.moments is not None else [])]

    def _places(self) -> list[int]:
        names = ["queue", *(["moments"] if self.kernel.moments is not None else [])]
        return [self.kernel.fields[name][1] for name in names]

    def _fill(self, front: int, *columns: np.ndarray | None) -> None:
        """Hold these rows, from position `front` on, in a ring with room for more or in pages."""
        widths = self._widths()
        queues = [np.ascontiguousarray(c).view(f"V{w}") for c, w in zip(columns, widths, strict=False) if c is not None]
        count = len(queues[0])
        end = front + count
        if 2 * count < PAGE:
            self.ring = size = max(FEWEST, 1 << count.bit_length())
            self.block = np.zeros(size * sum(widths) // 8, np.int64)
            self["room"], self["limit"] = size, _NEVER
            for k, queue in enumerate(queues):
                self._slots(k)[np.arange(front, end) & (size - 1)] = queue
            begin = self.block.ctypes.data
            for k, at in enumerate(self._places()):
                table = self.kernel.words + k
                self.words[table] = begin + size * sum(widths[:k])
                self.words[at : at + 4] = self.address + 8 * table, size.bit_length() - 1, size - 1, 0
            return
        self.ring, self.block, self.pages, self.spare = 0, _NOTHING, {}, []
        self.table = [np.zeros(16, np.int64) for _ in widths]
        self["room"] = _NEVER
        for number in range(front >> _SHIFT, (end >> _SHIFT) + 1):
            self._add_page(number)
            first = max(front, number << _SHIFT)
            last = min(end, number + 1 << _SHIFT)
            low = first - (number << _SHIFT)
            for page, queue in zip(self.pages[number], queues, strict=True):
                page.view(queue.dtype)[low : low + last - first] = queue[first - front : last - front]
        self._tell()

    def _slots(self, queue: int) -> np.ndarray:
        """Return the elements of a queue that is a ring."""
        widths = self._widths()
        begin = self.ring * sum(widths[:queue]) // 8
        return self.block[begin : begin + self.ring * widths[queue] // 8].view(f"V{widths[queue]}")

    def _tell(self) -> None:
        """Tell compiled code where the pages are."""
        for at, table in zip(self._places(), self.table, strict=True):
            self.words[at : at + 4] = table.ctypes.data, _SHIFT, PAGE - 1, len(table) - 1

    def _add_page(self, number: int) -> None:
        assert self.pages is not None
        size = len(self.table[0])
        if len(self.pages) == size:  # a table for twice as many
            self.table = [np.zeros(2 * size, np.int64) for _ in self.table]
            for n, pages in self.pages.items():
                for table, page in zip(self.table, pages, strict=True):
                    table[n & 2 * size - 1] = page.ctypes.data
            size *= 2
            self._tell()
        new = self.spare.pop() if self.spare else [np.empty(PAGE * width // 8, np.int64) for width in self._widths()]
        self.pages[number] = new
        for table, page in zip(self.table, new, strict=True):
            table[number & size - 1] = page.ctypes.data
        self["limit"] = number + 1 << _SHIFT

    def _list(self, queue: int, front: int, end: int) -> np.ndarray:
        """List the elements of a queue, as words. O(n)."""
        if self.pages is None:
            return self._slots(queue)[np.arange(front, end) & (self.ring - 1)].view(np.int64)
        width = self._widths()[queue]
        numbers = range(front >> _SHIFT, (end - 1 >> _SHIFT) + 1)
        parts = [
            self.pages[n][queue].view(f"V{width}")[max(front - (n << _SHIFT), 0) : min(end - (n << _SHIFT), PAGE)]
            for n in numbers
        ]
        return np.concatenate(parts).view(np.int64) if parts else np.zeros(0, np.int64)


def _encode_numbers(values: Sequence[Any], kind: str) -> np.ndarray | None:
    """Write floats, or integers of 64 bits, as they are; None where one is something else."""
    if set(map(type, values)) - {float if kind == "f8" else int}:
        return None
    try:
        return np.array(values, kind)
    except OverflowError:
        return None


def _find_largest(records: np.ndarray) -> int:
    """Find the largest integer that is held, without its sign."""
    names = [name for name in (records.dtype.names or ())[1:] if records.dtype[name].kind == "i"]
    numbers = [abs(int(x)) for name in names if len(records) for x in (records[name].min(), records[name].max())]
    return max(numbers, default=0)


class OfSortedRows(CompiledStructure):
    """The values of an order statistics tree."""

    __slots__ = ("ranks",)

    def _read(self, moments: np.ndarray | None) -> bool:
        tree: Any = self.swag
        if len(tree.queue) > sorted_rows.MOST // 2 or self["rows"] > sorted_rows.MOST:
            return False
        records = self._encode(list(tree.queue))
        if records is None:
            return False
        values = np.sort(records["f1"][records["f0"] != 0])
        self.ranks = values
        self["end"], self["held"] = len(records), len(values)
        self["fraction"] = np.array([tree.aggregation.rule_and_fraction[1]]).view(np.int64)[0]
        self._fill(0, records, moments)
        return True

    def _fill(self, front: int, *columns: np.ndarray | None) -> None:
        super()._fill(front, *columns)
        ranks, held = self.ranks, int(self["held"])
        self.ranks = np.empty((self.ring or sorted_rows.MOST) + 1, ranks.dtype)
        self.ranks[:held] = ranks[:held]
        at = self.kernel.fields["ranks"][1]
        self.words[at : at + 2] = self.ranks.ctypes.data, len(self.ranks)

    def release_plain(self) -> None:
        self.swag.functions["hold"](self.swag, [])

    def _write(self, values: list[Any]) -> None:
        tree: Any = self.swag
        tree.functions["hold"](tree, values)
