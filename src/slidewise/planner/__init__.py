"""The planner: from an aggregation and a window to an algorithm."""
