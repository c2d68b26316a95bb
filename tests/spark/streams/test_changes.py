"""The log of changes: what is written follows the keys that are touched, and several processes may take a bucket on."""

import copy
import random
from statistics import mean

import numpy as np
import pyarrow as pa
import pytest
from microbatches import SCHEMA, SECOND, SLIDES, Memory, Stream, expect, hashes_of, row, same, small_pieces, task_of
from support.tiers import in_full, quick

import slidewise as sw
from slidewise.serialization import codec, envelope
from slidewise.spark.streams import change_log, pending_rows, state_store
from slidewise.spark.streams.micro_batches import MicroBatches
from slidewise.spark.streams.recent import Recent

assert small_pieces
KEYS = 40


class Processes(Stream):
    """A stream whose steps are taken by three processes; some are begun, and end before anything of them is kept."""

    def __init__(self, task, delay, monkeypatch, seed):
        super().__init__(task, delay)
        self._monkeypatch, self._chance = monkeypatch, random.Random(seed)
        self._processes = [(Recent(1 << 20), Recent(1 << 20)) for _ in range(3)]
        self.entries = 0

    def push(self, rows, told=False):
        for _ in range(self._chance.choice([0, 0, 1])):
            begun = copy.deepcopy(self.memory)
            self._choose_process()
            mixed = rows.select(self.task.incoming.names).take(
                np.random.default_rng(len(self.out)).permutation(len(rows))
            )
            MicroBatches(self.task).advance(begun, mixed, hashes_of(mixed, self.task.partition_by), self.watermark)
        self._choose_process()
        found = super().push(rows, told)
        self.entries = max(self.entries, sum(number > state_store._CHANGES for number in self.memory.pieces))
        return found

    def _choose_process(self):
        images, recent = self._chance.choice(self._processes)
        self._monkeypatch.setattr(state_store, "images", images)
        self._monkeypatch.setattr(pending_rows, "recent", recent)
        if self._chance.random() < 0.05:
            images.clear()
            recent.clear()


def some_rows(chance, steps, few):
    """All keys, and then a few in each micro-batch, with some disorder."""
    parts, sequence = [[(key, 0) for key in range(KEYS)]], iter(range(10_000))
    for step in range(1, steps):
        chosen = chance.sample(range(KEYS), chance.randint(0, few))
        parts.append(
            [
                (key, max(0, step - chance.choice([0, 0, 1, 3, 30])))
                for key in chosen
                for _ in range(chance.randint(1, 2))
            ]
        )
    return [
        pa.Table.from_pylist(
            [row(f"key {key}", at, seq=next(sequence), x=chance.choice([1.0, 2.5, None]), odo=at) for key, at in part],
            schema=SCHEMA,
        )
        for part in parts
    ]


LONG = {"n": sw.count().over(sw.rows(5)), "peak": sw.max("x").over(sw.time("40s"))}
TASKS = {
    "rows": lambda: task_of(LONG),
    "following": lambda: task_of({"n": sw.collect_list("seq").over(sw.rows_between(-2, 1))}),
    "at arrival": lambda: task_of({"n": sw.count().over(sw.rows(5))}, emit="arrival"),
    "forgotten": lambda: task_of(LONG, forget_after=25 * SECOND),
    "running": lambda: task_of({"total": sw.sum("odo").over(sw.rows_between(-sw.UNBOUNDED, 0))}),
    "revised": lambda: task_of(LONG, keep=10 * SECOND),
    "hopping": lambda: task_of({"n": sw.count()}, window=SLIDES["hopping"]),
    "slices": lambda: task_of({"low": sw.min("odo")}, window=SLIDES["hopping"], slices=True),
    "sessions": lambda: task_of({"n": sw.count()}, window=SLIDES["sessions"]),
}


@pytest.mark.parametrize("seed", [0, *in_full(1)])
@pytest.mark.parametrize("kind", quick(TASKS, "rows", "hopping"))
def test_processes_take_turns_and_attempts_are_given_up(kind, seed, monkeypatch):
    task, chance = TASKS[kind](), random.Random(seed)
    parts = some_rows(chance, 25, few=5)
    one, many = Stream(task, 2 * SECOND), Processes(task, 2 * SECOND, monkeypatch, seed)
    for part in parts:
        many.push(part)
    assert many.entries  # the log was in use
    many.flush()
    many.flush()
    assert not many.memory.pieces or not task.slides
    monkeypatch.setattr(state_store, "images", change_log.images)
    monkeypatch.setattr(state_store, "FEW", 1 << 30)  # without a log: all that is touched is written anew
    for part in parts:
        one.push(part)
    one.flush()
    one.flush()
    assert many.late == one.late
    names = one.result().column_names
    by = [name for name in ("k", "ts", "window_end", "seq", "revision") if name in names]
    if kind in ("rows", "running", "hopping", "slices", "sessions"):
        same(one.result(), expect(task, parts, 2 * SECOND), by=by)
    same(many.result(), one.result(), by=by)


def test_states_from_before_tokens_are_not_taken_for_one_another():
    """What a step writes tells which state it is, and not what else was there before: that has to have a token."""
    task = task_of({"all": sw.collect_list("odo").over(sw.rows(5))}, emit="arrival")

    def step(memory, *made):
        some = pa.Table.from_pylist(list(made), schema=SCHEMA)
        out = MicroBatches(task).advance(memory, some.select(task.rows.names), hashes_of(some, ["k"]), 0).rows
        return {each["k"]: each["all"] for each in out.to_pylist()}

    streams = Memory(), Memory()
    for number, memory in enumerate(streams):
        others = [row(f"key {k}", 1, odo=100 * number + k) for k in range(8)]
        step(memory, row("same", 1, odo=0), *others)
        saved, encoded = envelope.open_sealed(memory.meta, "stream")
        memory.meta = envelope.seal("stream", saved, codec.decode(encoded)[:-1])
    for memory in streams:
        assert step(memory, row("same", 2, odo=1)) == {"same": [0, 1]}
        assert any(number > state_store._CHANGES for number in memory.pieces)
    for number, memory in enumerate(streams):
        assert step(memory, row("key 3", 3, odo=7)) == {"key 3": [100 * number + 3, 7]}


def test_the_oldest_go_first_and_what_does_not_fit_drives_none_out():
    recent = Recent(10)
    for name, size in (("a", 4), ("b", 4), ("c", 4), ("a", 4), ("too large", 11)):
        recent.put(name, size, size)
    assert [recent.find(name) for name in ("a", "b", "c", "too large")] == [4, None, 4, None]


class Counting(Memory):
    """The bytes that a step writes."""

    def __init__(self):
        super().__init__()
        self.written = self.read_values = 0

    def write(self, piece, data):
        self.written += len(data)
        super().write(piece, data)

    def write_meta(self, data):
        self.written += len(data)
        super().write_meta(data)

    def read(self, piece):
        self.read_values += 1
        return super().read(piece)


@pytest.mark.parametrize(
    ("share", "number", "steps"),
    [(0.1, 400, 20), *(pytest.param(*case, marks=pytest.mark.full) for case in ((0.01, 1000, 60), (1.0, 400, 6)))],
)
def test_a_step_writes_few_times_the_state_of_the_keys_that_it_touches(share, number, steps, monkeypatch):
    monkeypatch.setattr(state_store, "images", Recent(1 << 28))
    monkeypatch.setattr(state_store, "LARGE", 1 << 17)
    monkeypatch.setattr(state_store, "LARGE_IF_SPARSE", 1 << 15)
    last = 30
    task = task_of({"n": sw.count().over(sw.rows(last))}, emit="arrival")
    memory, chance = Counting(), np.random.default_rng(1)

    def step(keys, at):
        times = pa.array(np.full(len(keys), at * SECOND)).cast(SCHEMA.field("ts").type)
        columns = {"k": pa.array([f"key {k}" for k in keys]), "ts": times}
        rows = pa.table([columns.get(f.name, pa.nulls(len(keys), f.type)) for f in SCHEMA], schema=SCHEMA)
        hashes = keys * np.int64(2654435761) % 2**31
        memory.written = memory.read_values = 0
        assert len(MicroBatches(task).advance(memory, rows, hashes, 0).rows) == len(keys)
        return memory.written

    all_of_it = step(np.repeat(np.arange(number), last), 1)
    written = [step(chance.permutation(number)[: int(share * number)], 2 + k) for k in range(steps)]
    assert memory.read_values == 0  # all of it is in the memory of this process
    ratios = [each / (share * all_of_it) for each in written]
    assert mean(ratios) <= 4 * 7 / 8  # as text, a byte takes 8 bits of 7
    assert mean(ratios[-steps // 4 :]) <= 4
