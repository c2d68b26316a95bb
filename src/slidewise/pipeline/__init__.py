"""Pipelines: source, cleaning, keys and time, features over windows, sink; defined once, run as a batch or a stream."""
