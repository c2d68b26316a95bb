"""A run as a stream: checked, started, followed micro-batch by micro-batch, and ended."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any

from slidewise.aggregations.over import Over
from slidewise.errors import InvalidInput, SlidewiseError, StateError
from slidewise.pipeline.check import check_pipeline
from slidewise.pipeline.checkpoint_lock import CheckpointLock
from slidewise.pipeline.history import open_empty_history, open_history
from slidewise.pipeline.pipeline import Pipeline
from slidewise.pipeline.run_log import BatchRecord, FeatureText, KeyValues, LogReader, RunLog, ShownRow, folder_of
from slidewise.pipeline.sinks.hadoop_folder import HadoopFolder
from slidewise.pipeline.source import UNPARSED, count_unparsed, read_source, resolve
from slidewise.pipeline.target import open_target
from slidewise.pipeline.upgrade import has_begun, plan_upgrade, remember_definition, require_checkpoint
from slidewise.spark.conditions import describe_spark_error
from slidewise.spark.plan import column
from slidewise.spark.streams.metrics import dropped_rows
from slidewise.windows.durations import Duration, length

#: seconds between two looks at the query
POLL = 0.2
#: seconds that a micro-batch has to come to its end where the run is to stop
PATIENCE = 30.0
#: rows of a micro-batch that the log looks at, and keys that it keeps
NEWEST_ROWS, NEWEST_KEYS = 500, 50
UNPARSED_ROWS = f"slidewise_{UNPARSED}"
UNPARSED_HISTORY = f"{UNPARSED_ROWS}_history"
PREPARED_ROWS = "slidewise_prepared"


class StreamRun:
    """A pipeline as a stream.

        run = StreamRun(spark, pipeline)
        for batch in run.follow():
            print(batch["batch"], batch["rows_in"])

    - `once` takes what is there, and ends (Spark's availableNow).
    - `upgrade` goes on from a checkpoint whose definition has changed, where its state can.
    - `log` is the folder of the run log, by default beside the checkpoint.
    """

    def __init__(
        self, spark: Any, pipeline: Pipeline, *, once: bool = False, upgrade: bool = False, log: str | None = None
    ) -> None:
        self.pipeline = pipeline
        self.checkpoint = require_checkpoint(pipeline)
        self.log = RunLog(find_log_folder(pipeline, log))
        self._spark = spark
        self._once = once
        self._upgrade = upgrade
        self._stopping = threading.Event()
        self._written: dict[int, int] = {}
        #: late rows that were written apart
        self._aside: dict[int, int] = {}
        #: rows that have come, and have not been given yet; None where that is not known
        self._waiting: int | None = None
        self._has_complained = False

    def stop(self) -> None:
        """End the run: the micro-batch at work may come to its end first. From any thread, or a signal's handler."""
        self._stopping.set()

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stopping.is_set()

    def follow(self) -> Iterator[BatchRecord]:
        """Run, and give a record for each micro-batch, until the stream ends or `stop` is called."""
        with ExitStack() as stack:
            stack.enter_context(CheckpointLock(self.log.folder, self.checkpoint))
            query = self._start()
            try:
                yield from self._follow(query)
            except BaseException as error:
                _end(query)
                said = self.pipeline.secrets.mask(_describe_failure(error))
                failed = isinstance(error, Exception)
                self.log.append({"kind": "end", "why": "failed" if failed else "stopped",
                                 "error": said if failed else None})  # fmt: skip
                raise
            why = "stopped" if self._stopping.is_set() else "finished"
            self.log.append({"kind": "end", "why": why, "error": None})  # type: ignore[typeddict-item]

    # ---- start
    def _start(self) -> Any:
        pipeline, spark = self.pipeline, self._spark
        begun = has_begun(spark, pipeline)
        schema = check_pipeline(spark, pipeline, streaming=True, begun=begun)
        sinks = self._open_sinks(schema)
        assert pipeline.definition.source is not None
        rows = read_source(spark, pipeline.definition.source, pipeline.folder, streaming=True)
        df = count_unparsed(rows, UNPARSED_ROWS)
        self._require_upgrade(df)
        remember_definition(spark, pipeline)
        # A restart reads no history, which may be gone by then: the state has it.
        read = None if begun else open_history(spark, pipeline, UNPARSED_HISTORY)
        history = read.df if read is not None else open_empty_history(pipeline, df)
        out = pipeline.stream(df, PREPARED_ROWS, history)
        self._waiting = self._read_waiting()
        self.log.append(self._describe_start(df, history))
        run = pipeline.definition.run
        writer = out.writeStream.queryName(pipeline.name).option("checkpointLocation", self.checkpoint)
        if self._once:
            writer = writer.trigger(availableNow=True)
        elif run.trigger is not None:
            writer = writer.trigger(processingTime=f"{_seconds(run.trigger) * 1000:.0f} milliseconds")
        return writer.foreachBatch(self._write_with(*sinks)).start()

    def _open_sinks(self, schema: Any) -> tuple[Any, Any]:
        """Open the sink of results, and that of late rows; None: there is none."""
        spark, pipeline = self._spark, self.pipeline
        if pipeline.definition.late_to is None:
            return open_target(spark, pipeline, schema), None
        results, late = pipeline.separate_late(spark.createDataFrame([], schema))
        return open_target(spark, pipeline, results.schema), open_target(spark, pipeline, late.schema, "late_to")

    def _require_upgrade(self, df: Any) -> None:
        found = plan_upgrade(self._spark, self.pipeline, df)
        if found.refused is not None:
            raise StateError(f"the stream cannot go on from its checkpoint:\n{found}")
        if found.changes and not self._upgrade:
            raise StateError(
                f"the definition has changed since the checkpoint was written:\n{found}\n"
                "Run it with --upgrade to go on with the new definition"
            )

    def _write_with(self, sink: Any, late_sink: Any) -> Callable[[Any, int], None]:
        folder = HadoopFolder(self._spark, self.checkpoint)

        def write(rows: Any, batch: int) -> None:
            query = json.loads(folder.read("metadata"))["id"]
            rows.persist()  # for the sink, and for the log
            try:
                results = rows
                if late_sink is not None:
                    # Under the same number: what was written before a failure is not written again.
                    results, late = self.pipeline.separate_late(rows)
                    aside = late_sink.write(late, batch, query)
                    self._aside[batch] = late.count() if aside is None else aside
                written = sink.write(results, batch, query)
                self._written[batch] = results.count() if written is None else written
                self._log_values(results, batch)
            finally:
                rows.unpersist()

        return write

    # ---- follow
    def _follow(self, query: Any) -> Iterator[BatchRecord]:
        told, quiet = -1, time.monotonic()
        while True:
            ended = query.awaitTermination(POLL)
            for progress in query.recentProgress:
                if progress["batchId"] > told and _has_run(progress):
                    told = progress["batchId"]
                    record = self._describe_batch(progress)
                    self.log.append(record)
                    quiet = time.monotonic()
                    yield record
            if ended:
                return
            if self._stopping.is_set():
                _end(query, PATIENCE)
            elif time.monotonic() - quiet > max(10.0, POLL):
                self.log.append({"kind": "idle"})
                quiet = time.monotonic()

    def _describe_start(self, df: Any, history: Any) -> Any:
        pipeline = self.pipeline
        time_column, run = pipeline.definition.time, pipeline.definition.run
        try:
            table = pipeline.explain(df, history)
            explained = {"columns": list(table.columns), "rows": [list(row) for row in table.rows]}
        except SlidewiseError:
            explained = None
        return {
            "kind": "start", "run": uuid.uuid4().hex, "query_id": None, "name": pipeline.name, "pid": os.getpid(),
            "host": socket.gethostname(), "mode": "once" if self._once else "stream",
            "definition": pipeline.secrets.mask(pipeline.text), "keys": pipeline.keys, "explain": explained,
            "features": [_describe_feature(name, each) for name, each in pipeline.features.items()],
            "time": pipeline.output_time or "",
            "max_delay": _seconds(time_column.max_delay) if time_column and time_column.max_delay else None,
            "trigger": _seconds(run.trigger) if run.trigger is not None and not self._once else None,
            "emit": run.emit or "watermark", "slides": pipeline.window is not None,
        }  # fmt: skip

    def _describe_batch(self, progress: Any) -> BatchRecord:
        run = self.pipeline.definition.run
        event, states = progress["eventTime"] or {}, progress["stateOperators"] or []
        dropped = dropped_rows([progress])
        observed = [progress["observedMetrics"].get(name) for name in (UNPARSED_ROWS, UNPARSED_HISTORY)]
        backlog, unit = _find_backlog(progress)
        written = self._written.pop(progress["batchId"], 0)
        aside = self._aside.pop(progress["batchId"], 0)
        self._count_waiting(progress, written + aside, dropped)
        dropped["late"] += aside
        record: BatchRecord = {
            "kind": "batch", "batch": progress["batchId"], "rows_in": progress["numInputRows"],
            "rows_out": written,
            "seconds": (progress["durationMs"] or {}).get("triggerExecution", 0) / 1000,
            "trigger": _seconds(run.trigger) if run.trigger is not None and not self._once else None,
            "in_rate": progress["inputRowsPerSecond"] if progress["inputRowsPerSecond"] else None,
            "watermark": event.get("watermark"), "newest": event.get("max"),
            "state_rows": sum(each["numRowsTotal"] for each in states),
            "state_bytes": sum(each["memoryUsedBytes"] for each in states),
            **dropped,  # type: ignore[typeddict-item]
            "unparsed": sum(each[UNPARSED] for each in observed if each is not None), "backlog": backlog,
            "waiting": self._waiting,
        }  # fmt: skip
        if unit is not None:
            record["backlog_unit"] = unit
        return record

    def _read_waiting(self) -> int | None:
        """Read how many rows wait in the state; None where the log lacks a micro-batch, as it may after a kill."""
        if self.pipeline.window is not None or self.pipeline.definition.time is None:
            return None
        if self.pipeline.definition.time.late == "revise" or self.pipeline.definition.run.emit == "changes":
            return None  # rows are given again, or never
        checkpoint = HadoopFolder(self._spark, self.checkpoint)
        records = LogReader(self.log.folder).read()
        if not records:
            return None if checkpoint.exists("offsets") else 0
        batches = [record for record in records if record["kind"] == "batch"]
        committed = [int(name) for name in checkpoint.names("commits") if name.isdigit()]
        return batches[-1]["waiting"] if batches and batches[-1]["batch"] == max(committed, default=-1) else None

    def _count_waiting(self, progress: Any, written: int, dropped: dict[str, int]) -> None:
        came = progress["observedMetrics"].get(PREPARED_ROWS)
        if self._waiting is not None:
            self._waiting += (0 if came is None else came["rows"]) - written - sum(dropped.values())

    def _log_values(self, rows: Any, batch: int) -> None:
        """Log the newest results of some keys. What goes wrong here is said once, and does not stop the stream."""
        try:
            keys = self._collect_values(rows)
        except Exception as error:
            if not self._has_complained:
                self._has_complained = True
                said = self.pipeline.secrets.mask(describe_spark_error(error))
                print(f"the live page has no values, and the stream goes on without them: {said}", file=sys.stderr)
            return
        if keys:
            self.log.append({"kind": "values", "batch": batch, "keys": keys})

    def _collect_values(self, rows: Any) -> list[KeyValues]:
        pipeline = self.pipeline
        at = pipeline.output_time
        newest = rows.orderBy(column(at).desc()).limit(NEWEST_ROWS) if at is not None else rows.limit(NEWEST_ROWS)
        by_key: dict[str, KeyValues] = {}
        zoned = [field.name for field in rows.schema.fields if field.dataType.typeName() == "timestamp"]
        for row in newest.collect():
            values = row.asDict(recursive=True)
            values |= {name: values[name].astimezone() for name in zoned if values[name] is not None}
            key = [values[name] for name in pipeline.keys]
            if repr(key) not in by_key and len(by_key) >= NEWEST_KEYS and key not in self.log.pins():
                continue
            found = by_key.setdefault(repr(key), {"key": key, "rows": []})
            found["rows"].insert(0, self._describe_row(values))
        return list(by_key.values())

    def _describe_row(self, values: dict[str, Any]) -> ShownRow:
        pipeline = self.pipeline
        at = values.get(pipeline.output_time) if pipeline.output_time is not None else None
        named = {*pipeline.features, *pipeline.keys, pipeline.output_time, "revision"}
        row: ShownRow = {
            "time": at.isoformat() if isinstance(at, datetime) else None if at is None else str(at),
            "inputs": {name: value for name, value in values.items() if name not in named},
            "results": {name: values.get(name) for name in pipeline.features},
        }
        if values.get("revision"):
            row["revision"] = values["revision"]
        return row


def find_log_folder(pipeline: Pipeline, given: str | None = None) -> Path:
    """Find where the run log lies: where it is told to, or beside a checkpoint on a local disk."""
    chosen = given if given is not None else pipeline.definition.run.log
    if chosen is not None:
        return Path(resolve(chosen, pipeline.folder))
    checkpoint = require_checkpoint(pipeline).removeprefix("file://")
    if "://" in checkpoint:
        raise InvalidInput(
            f"the checkpoint {checkpoint} is not on a local disk, where the run log could lie beside it: say where, by "
            "--log or run: {log: ...}"
        )
    return folder_of(checkpoint)


def _end(query: Any, patience: float = 0.0) -> None:
    """Stop a query, after its micro-batch where that takes no longer than so many seconds."""
    until = time.monotonic() + patience
    last = _last_batch(query)
    while query.isActive and query.status["isTriggerActive"] and time.monotonic() < until:
        if _last_batch(query) != last:  # without a trigger, the next one is at work already
            break
        time.sleep(POLL)
    query.stop()


def _last_batch(query: Any) -> int | None:
    progress = query.lastProgress
    return None if progress is None else progress["batchId"]


def _has_run(progress: Any) -> bool:
    """Tell whether this is of a micro-batch, and not of a look at a source without news."""
    return "addBatch" in (progress["durationMs"] or {})


def _find_backlog(progress: Any) -> tuple[float | None, str | None]:
    """Find how much the sources still have, where they tell."""
    for source in progress["sources"]:
        metrics = source["metrics"] or {}
        if "numFilesOutstanding" in metrics:
            return float(metrics["numFilesOutstanding"]), "files"
        if "avgOffsetsBehindLatest" in metrics:
            return float(metrics["avgOffsetsBehindLatest"]), "offsets"
    return None, None


def _describe_feature(name: str, expression: Any) -> FeatureText:
    aggregation = expression.aggregation if isinstance(expression, Over) else expression
    described: FeatureText = {"name": name, "text": repr(expression), "of": list(aggregation.columns)}
    reach = expression.window.reach if isinstance(expression, Over) else None
    if reach is not None and reach.unit == "rows" and isinstance(reach.start, int):
        described |= {"unit": "rows", "back": -reach.start, "ahead": reach.end if isinstance(reach.end, int) else None}
    elif reach is not None and isinstance(reach.start, Duration):
        ahead = reach.end.nanoseconds / 1e9 if isinstance(reach.end, Duration) else 0.0
        described |= {"unit": "time", "back": -reach.start.nanoseconds / 1e9, "ahead": ahead}
    return described


def _seconds(text: str) -> float:
    found = length(text, "a length of time")
    assert isinstance(found, Duration)
    return found.nanoseconds / 1e9


def _describe_failure(error: BaseException) -> str:
    return str(error) if isinstance(error, SlidewiseError) else describe_spark_error(Exception(str(error)))
