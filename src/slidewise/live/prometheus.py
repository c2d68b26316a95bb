"""Prometheus metrics of a watched run, in the text format; `grafana.json` is a dashboard of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from slidewise.live.verdict import KINDS
from slidewise.live.watched import LEFT_OUT, Watched
from slidewise.live.words import seconds_of

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_Sample = tuple[Mapping[str, str], float | None]


def describe_metrics(watched: Watched) -> str:
    """Write the metrics of the newest run. Counters begin anew with the process that serves them."""
    name = watched.start["name"] if watched.start else ""
    total = watched.totals
    verdict = watched.verdict()
    batch = watched.batches[-1][1] if watched.batches else None
    at = seconds_of(batch.get("at")) if batch else None
    watermark = seconds_of(batch["watermark"]) if batch else None
    newest = seconds_of(batch["newest"]) if batch else None
    lag = at - watermark if at is not None and watermark is not None else None

    def one(value: float | None) -> list[_Sample]:
        return [({}, value)]

    def last(field: str) -> list[_Sample]:
        return one(batch[field] if batch else None)  # type: ignore[literal-required]

    metrics: list[tuple[str, str, str, Iterable[_Sample]]] = [
        ("verdict", "gauge", "1 for what the verdict is.", [({"verdict": k}, k == verdict.kind) for k in KINDS]),
        ("runs_total", "counter", "Starts of the pipeline.", one(watched.run)),
        ("batches_total", "counter", "Micro-batches that are done.", one(total["batches"])),
        ("batch_seconds_total", "counter", "Seconds that micro-batches took.", one(total["seconds"])),
        ("rows_in_total", "counter", "Rows that were read.", one(total["rows_in"])),
        ("rows_out_total", "counter", "Rows that were emitted.", one(total["rows_out"])),
        ("left_out_rows_total", "counter", "Rows that were left out.", [({"reason": r}, total[r]) for r in LEFT_OUT]),
        ("batch_seconds", "gauge", "Seconds that the last micro-batch took.", last("seconds")),
        ("trigger_seconds", "gauge", "Seconds between micro-batches that are due.", last("trigger")),
        ("watermark_timestamp_seconds", "gauge", "The watermark.", one(watermark)),
        ("newest_timestamp_seconds", "gauge", "The newest time among all rows.", one(newest)),
        ("watermark_lag_seconds", "gauge", "How far the watermark is behind the clock.", one(lag)),
        ("state_rows", "gauge", "Rows in the state.", last("state_rows")),
        ("state_bytes", "gauge", "Bytes of the state.", last("state_bytes")),
        ("waiting_rows", "gauge", "Rows that wait for the watermark.", last("waiting")),
        ("backlog", "gauge", "What is still to be read, in the unit of the source.", last("backlog")),
        ("last_record_timestamp_seconds", "gauge", "When the run last wrote to its log.", one(watched.heard)),
    ]
    lines = []
    for metric, kind, what, samples in metrics:
        known = [(labels, value) for labels, value in samples if value is not None]
        if known:
            lines += [f"# HELP slidewise_{metric} {what}", f"# TYPE slidewise_{metric} {kind}"]
            lines += [f"slidewise_{metric}{_labels({'pipeline': name, **labels})} {float(v)!r}" for labels, v in known]
    return "\n".join(lines) + "\n"


def _labels(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{name}="{_escape(value)}"' for name, value in labels.items()) + "}"


def _escape(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
