"""Sliding windows over Spark streams. README.md draws one micro-batch, and says which file holds what."""
