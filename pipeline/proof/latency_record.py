"""How long one call takes, as a row of the report."""

from typing import NamedTuple


class Latency(NamedTuple):
    """``name``: "PyTorch" or a backend, and its device.

    Milliseconds of one call: median, 90th and 99th percentile of ``rounds``.
    """

    name: str
    batch: int
    p50: float
    p90: float
    p99: float
    rounds: int
