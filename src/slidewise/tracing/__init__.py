"""Traces: what a data structure holds after each operation, as a drawing and as data."""

from slidewise.tracing.run import trace
from slidewise.tracing.steps import Step, Trace

__all__ = ["Step", "Trace", "trace"]
