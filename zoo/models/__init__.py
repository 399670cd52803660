"""The models, as their authors wrote them: never edited for export. Importing this package registers them."""

from zoo.models import detection, segmentation

__all__ = ["detection", "segmentation"]
