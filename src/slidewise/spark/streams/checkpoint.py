"""Checkpoints: whether a query can go on from one, read on the driver with Spark's own reader of state.

Every bucket of keys has a meta value, with the definition that it was written with. Buckets without rows since results
came or went still have the one of before: all of them are read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from slidewise.columns.stream_options import check_path
from slidewise.errors import InvalidInput, StateError
from slidewise.serialization import envelope
from slidewise.serialization.state_definition import Definition
from slidewise.spark.streams.state_store import Bucket
from slidewise.spark.streams.stream_task import RESULT, StreamTask
from slidewise.spark.streams.wire import from_text

#: the state variables of a bucket, in Spark's checkpoint
META, PIECES = "meta", "pieces"
#: what calls have given, and their tasks
_tasks: WeakKeyDictionary[Any, StreamTask] = WeakKeyDictionary()


@dataclass(frozen=True)
class Check:
    """Whether a query can go on from a checkpoint. It is true where it can.

    >>> Check("/checkpoints/features", found=True, new=("usual",))
    the query can go on from /checkpoints/features
      new      usual
    """

    path: str
    #: whether there is state yet: without it, the query starts there
    found: bool
    #: results by name: those that are new, those that are computed in another way, and those that are there no more
    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    #: why the query cannot go on
    refused: str | None = None

    def __bool__(self) -> bool:
        return self.refused is None

    def __repr__(self) -> str:
        if not self.found:
            return f"the query can start at {self.path}: there is no state yet"
        results = {"new": self.new, "changed": self.changed, "gone": self.gone}
        lines = [f"  {what:8} {', '.join(names)}" for what, names in results.items() if names]
        if self.refused is not None:
            return "\n".join([f"the query cannot go on from {self.path}", *lines, f"  refused  {self.refused}"])
        return "\n".join([f"the query can go on from {self.path}", *(lines or ["  nothing has changed"])])


def remember(out: Any, task: StreamTask) -> None:
    """Remember the task of a DataFrame, for as long as that lives."""
    _tasks[out] = task


def check(df: Any, checkpoint: str) -> Check:
    """Tell whether what with_columns or aggregate gave for a stream can go on from a checkpoint. Nothing starts.

        slidewise.spark.check(out, "/checkpoints/features")
        # the query can go on from /checkpoints/features
        #   new      usual

    It reads what the checkpoint says about its own state, of all buckets: a few seconds. A query with several calls has
    one state for each, and each is checked on its own. A checkpoint of another query, or one that cannot be read, is
    an error.
    """
    return check_task(df.sparkSession, find_task(df, "check"), checkpoint)


def find_task(df: Any, what: str) -> StreamTask:
    """Find the task of what a call gave."""
    try:
        task = _tasks.get(df)
    except TypeError:
        task = None
    if task is None:
        raise InvalidInput(
            f"{what} takes the DataFrame that with_columns or aggregate gave for a stream, as it came: not what was "
            "made of it since"
        )
    return task


def require_compatible(spark: Any, task: StreamTask, path: str) -> None:
    """Refuse a call that cannot go on from its checkpoint."""
    found = check_task(spark, task, path)
    if found.refused is not None:
        raise StateError(f"the query cannot go on from the checkpoint {path}: {found.refused}")


def require_no_state(spark: Any, path: str) -> None:
    """Refuse a checkpoint with state of ours for a query that Spark computes."""
    check_path(path)
    ours: list[int] = []
    with _tell_what_cannot_be_read(path):
        ours = _find_ours(_read_operators(spark, path))
    if ours:
        raise StateError(
            f"the query cannot go on from the checkpoint {path}: it was begun by slidewise, and not by Spark's own "
            'window(). Leave out engine="spark", or give this query a checkpoint of its own'
        )


def check_task(spark: Any, task: StreamTask, path: str) -> Check:
    """Check what a checkpoint has for a task."""
    check_path(path)
    checks = check_operators(spark, task, path)
    if not checks:
        return Check(path, found=False)
    # Of several calls in a query, the state is this one's with which it agrees, or else agrees the most.
    return max(checks.values(), key=measure_agreement)


def check_operators(spark: Any, task: StreamTask, path: str) -> dict[int, Check]:
    """Check what a checkpoint has for a task, for each operator of ours by its number; none: there is no state yet."""
    return {number: compare(task, path, metas) for number, metas in _read_metas(spark, path).items()}


def measure_agreement(check: Check) -> tuple[bool, int]:
    """Measure how much of a state is that of a task: the more, the better."""
    return bool(check), -len(check.new + check.changed + check.gone)


def compare(task: StreamTask, path: str, metas: list[bytes]) -> Check:
    """Compare a task with the meta values of one operator's buckets."""
    here = task.build_definition()
    new, changed, gone, refused = set[str](), set[str](), set[str](), None
    for meta in metas:
        try:
            saved, _ = envelope.open_sealed(meta, "stream")
            new |= _find_results(here) - _find_results(saved)
            gone |= _find_results(saved) - _find_results(here)
            changed |= {n for n in _find_results(saved) & _find_results(here) if saved[RESULT + n] != here[RESULT + n]}
            Bucket(_MetaOnly(meta), task)
        except StateError as error:
            refused = str(error)
    return Check(path, bool(metas), tuple(sorted(new)), tuple(sorted(changed)), tuple(sorted(gone)), refused)


def _find_results(definition: Definition) -> set[str]:
    return {part.removeprefix(RESULT) for part in definition if part.startswith(RESULT)}


class _MetaOnly:
    """The meta value of a bucket, of which nothing else is read or written."""

    def __init__(self, meta: bytes) -> None:
        self._meta = meta

    def read_meta(self) -> bytes:
        return self._meta

    def write_meta(self, data: bytes) -> None:
        raise NotImplementedError

    def read(self, piece: int) -> bytes | None:
        raise NotImplementedError

    def write(self, piece: int, data: bytes) -> None:
        raise NotImplementedError

    def remove(self, piece: int) -> None:
        raise NotImplementedError


# ---- reading
def _read_metas(spark: Any, path: str) -> dict[int, list[bytes]]:
    """Read the meta values of all buckets, for each operator of ours by number; none: there is no state yet."""
    with _tell_what_cannot_be_read(path):
        operators = _read_operators(spark, path)
        ours = _find_ours(operators)
        if not ours and (operators or _has_commits(spark, path)):
            raise StateError(
                f"the checkpoint {path} is of another query: it has no state of slidewise. Give this one its own"
            )
        return {operator: _read_operator(spark, path, operator) for operator in ours}
    return {}


@contextmanager
def _tell_what_cannot_be_read(path: str) -> Iterator[None]:
    """Raise what Spark cannot read of a checkpoint in words, but for one whose first micro-batch has not ended."""
    try:
        yield
    except StateError:
        raise
    except Exception as error:  # classic sessions give Java's errors for some, and Connect errors of its own
        if _read_condition(error) == "STDS_COMMITTED_BATCH_UNAVAILABLE":
            return
        lines = str(error).strip().splitlines()
        said = next((line for line in lines if "[" in line), lines[0] if lines else type(error).__name__)
        raise StateError(f"the state in the checkpoint {path} cannot be read: {said.lstrip(': ')}") from error


def _read_operators(spark: Any, path: str) -> list[Any]:
    return list(spark.read.format("state-metadata").load(path).collect())


def _find_ours(operators: list[Any]) -> list[int]:
    return sorted({each["operatorId"] for each in operators if _is_ours(each)})


def _is_ours(operator: Any) -> bool:
    variables = json.loads(operator["operatorProperties"] or "{}").get("stateVariables", [])
    return {META, PIECES} <= {variable["stateName"] for variable in variables}


def _has_commits(spark: Any, path: str) -> bool:
    from pyspark.errors import AnalysisException

    try:
        return bool(spark.read.text(f"{path}/commits").head(1))
    except AnalysisException as error:
        if _read_condition(error) != "PATH_NOT_FOUND":
            raise
        return False


def _read_operator(spark: Any, path: str, operator: int) -> list[bytes]:
    reader = spark.read.format("statestore").option("path", path).option("operatorId", operator)
    rows = reader.option("stateVarName", META).load().select("value.data").collect()
    return [_decode(row["data"], path) for row in rows]


def _decode(text: str, path: str) -> bytes:
    try:
        return from_text(text)
    except StateError as error:
        raise StateError(f"the checkpoint {path} has state that is damaged, or not of slidewise: {error}") from error


def _read_condition(error: Any) -> str | None:
    return error.getCondition() if hasattr(error, "getCondition") else None
