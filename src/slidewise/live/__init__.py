"""The live page: what a running pipeline does, in a browser."""
