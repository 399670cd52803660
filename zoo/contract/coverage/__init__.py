"""What images exercise of a PyTorch model: levels, thresholds and empty branches, counted while it runs.

A family registers a context manager for its class, so that families outside of this package can:

    @watched.register(MyDetector)
    def _(model: MyDetector, usage: Usage) -> AbstractContextManager[None]: ...
"""

from zoo.contract.coverage import dense, segmentation, ssd, two_stage, yolov5
from zoo.contract.coverage.usage import Usage, watched

__all__ = ["Usage", "dense", "segmentation", "ssd", "two_stage", "watched", "yolov5"]
