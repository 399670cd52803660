"""The first items of a data set, each with its number."""

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from torch.utils.data import Dataset

from zoo.datasets.evaluation_dataset import INPUTS, EvaluationDataset
from zoo.errors import InputError


class IndexedDataset(Dataset[dict[str, Any]]):
    """The first ``limit`` items (None: all) with two more keys: "number", the place in the data set, and "state".

    "state" changes where the image's file does, by its path, size and time of change, and where the numbers do that the
    model is given beside the image. Generated inputs have no file, and count by name and shape. ``metainfo``: mmengine
    looks for it.
    """

    metainfo: ClassVar[dict[str, Any]] = {}

    def __init__(self, dataset: EvaluationDataset, limit: int | None = None) -> None:
        self.dataset = dataset
        self.length = len(dataset) if limit is None else min(limit, len(dataset))

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, number: int) -> dict[str, Any]:
        item = self.dataset[number]
        if self.dataset.is_generated:
            state = f"{item['path']}:{np.shape(item[self.dataset.input_kind])}"
        else:
            state = _state_of_file(item["path"])
        return item | {"number": number, "state": f"{state}:{item[INPUTS]}" if INPUTS in item else state}


def _state_of_file(path: str) -> str:
    try:
        status = Path(path).stat()
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}); put it back, or evaluate again without it"
        ) from error
    return f"{path}:{status.st_size}:{status.st_mtime_ns}"
