"""Sliding-window aggregation."""
