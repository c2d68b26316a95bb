"""The pipeline of ../plant on an embedded local Spark, step by step: `make demo`, or `python -m examples.demo --help`.

| step | file |
| --- | --- |
| events of a plant are generated, and written as Parquet | `events.py` |
| Spark starts in this process | `session.py` |
| the pipeline runs as a batch: features over several horizons are computed and written | `features.py` |
| the part that Spark can do too, done both ways | `race.py` |
| the same file as a stream, whose process is killed | `stream.py`, `stream_job.py` |
| some rows, and a picture of one machine | `show.py`, `picture.py` |
"""
