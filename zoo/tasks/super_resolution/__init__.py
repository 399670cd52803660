"""Larger images with the details that the small ones have lost."""

from zoo.tasks.super_resolution.result import SuperResolutionResult
from zoo.tasks.super_resolution.task import SuperResolution

__all__ = ["SuperResolution", "SuperResolutionResult"]
