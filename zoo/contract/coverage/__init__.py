"""What images exercise of a PyTorch model: levels, thresholds and empty branches, counted while it runs.

What is counted of a model, its family says (`Family.coverage`).
"""

from zoo.contract.coverage.usage import Usage

__all__ = ["Usage"]
