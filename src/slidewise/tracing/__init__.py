"""Traces: what a data structure holds after each operation, as a drawing and as data."""

from slidewise.tracing.steps import Step, Trace
from slidewise.tracing.traced_run import trace

__all__ = ["Step", "Trace", "trace"]
