"""Objects as masks of the whole image."""

from zoo.tasks.instance_masks.result import InstanceMasksResult
from zoo.tasks.instance_masks.task import InstanceMasks

__all__ = ["InstanceMasks", "InstanceMasksResult"]
