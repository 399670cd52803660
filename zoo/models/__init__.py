"""The models, as their authors wrote them: never edited for export. Importing this package registers them."""

from zoo.models import classification, detection, restoration, segmentation

__all__ = ["classification", "detection", "restoration", "segmentation"]
