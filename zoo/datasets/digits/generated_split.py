"""The base of the data sets of digits: a split that is not shipped is made on this machine."""

from collections.abc import Mapping
from typing import Any

from zoo.datasets.digits.cache import ensure_split
from zoo.datasets.evaluation_dataset import EvaluationDataset
from zoo.progress import Progress

SHIPPED = "val"


class GeneratedSplit(EvaluationDataset):
    """A split of the digits, by its name; `root` in a config's section says that it lies elsewhere, made already."""

    @classmethod
    def prepare(cls, section: Mapping[str, Any], progress: Progress | None = None) -> None:
        """Make the split in the cache, where it is not there."""
        if "root" not in section:
            ensure_split(section.get("split", SHIPPED), progress)
