"""The first items of a data set, each with its number."""

from pathlib import Path
from typing import Any, ClassVar

from torch.utils.data import Dataset

from zoo.datasets.evaluation_dataset import EvaluationDataset


class IndexedDataset(Dataset[dict[str, Any]]):
    """The first ``limit`` items (None: all) with two more keys: "number", the place in the data set, and "state".

    "state" changes where the image's file does: its path, size and time of change. ``metainfo``: mmengine looks for it.
    """

    metainfo: ClassVar[dict[str, Any]] = {}

    def __init__(self, dataset: EvaluationDataset, limit: int | None = None) -> None:
        self.dataset = dataset
        self.length = len(dataset) if limit is None else min(limit, len(dataset))

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, number: int) -> dict[str, Any]:
        item = self.dataset[number]
        status = Path(item["path"]).stat()
        return item | {"number": number, "state": f"{item['path']}:{status.st_size}:{status.st_mtime_ns}"}
