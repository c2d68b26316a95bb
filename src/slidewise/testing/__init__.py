"""What you can run on your own code: an algorithm against recalculation, an aggregation against its declared laws."""

from slidewise.testing.conformance import AlgorithmBroken, check_algorithm
from slidewise.testing.laws import check_aggregation

__all__ = ["AlgorithmBroken", "check_aggregation", "check_algorithm"]
