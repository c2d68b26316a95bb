"""Pipelines: source, cleaning, keys and time, features over windows, sink; defined once, run as a batch or a stream."""

from slidewise.pipeline.mistakes import InvalidPipeline, Mistake
from slidewise.pipeline.pipeline import Pipeline, load

__all__ = ["InvalidPipeline", "Mistake", "Pipeline", "load"]
