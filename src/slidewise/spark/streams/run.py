"""What runs a task: rows or slides, of rows or of slices, revised or not."""

from __future__ import annotations

from slidewise.spark.streams.pipeline import Processing
from slidewise.spark.streams.revising import RevisedRows, RevisedRowSlides, RevisedTimeSlides
from slidewise.spark.streams.slices import SlicedSlides
from slidewise.spark.streams.slides import RowSlides, TimeSlides
from slidewise.spark.streams.stream_task import StreamTask


def processing_of(task: StreamTask) -> Processing:
    """What runs a task."""
    revises = task.keep is not None
    if not task.slides:
        return RevisedRows(task) if revises else Processing(task)
    if task.slices:
        return SlicedSlides(task)
    [window] = task.windows
    if window.slide_kind == "time":
        return RevisedTimeSlides(task) if revises else TimeSlides(task)
    return RevisedRowSlides(task) if revises else RowSlides(task)
