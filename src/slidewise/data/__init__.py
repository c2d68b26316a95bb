"""Streams of events to try things with: generated ones of any length, and the two public data sets of the papers.

>>> from slidewise import data
>>> events = data.machines(seed=1)
>>> events.table(3).column_names
['machine', 'ts', 'arrived', 'temperature', 'vibration', 'power', 'status', 'operator', 'part']

| source | what it is |
| --- | --- |
| `machines()` | a plant: skewed keys, gaps, late rows, drift, spikes, nulls and NaN |
| `debs2012()`, `debs2012(path)` | the manufacturing equipment of the DEBS 2012 Grand Challenge: generated, or read |
| `debs2014()`, `debs2014(path)` | the smart plugs of the DEBS 2014 Grand Challenge: generated, or read |

Each is a `Source`: `table(rows)` gives one Arrow table, `batches()` a stream of record batches in bounded memory.
"""

from slidewise.data.debs2012 import debs2012
from slidewise.data.debs2014 import debs2014
from slidewise.data.event_source import Source
from slidewise.data.machines import machines

__all__ = ["Source", "debs2012", "debs2014", "machines"]
