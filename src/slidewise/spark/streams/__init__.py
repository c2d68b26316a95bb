"""Sliding windows over Spark streams.

The stateful logic knows nothing of Spark: `processing` takes rows and a watermark, and gives the rows that are final;
`horizon` says which those are and what later frames can still reach; `pieces` keeps the latter as bytes. `pack`,
`processor` and `query` are the edge to Spark.
"""
