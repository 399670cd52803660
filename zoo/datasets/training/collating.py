"""Batches of training samples."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

WHOLE = {"images": "image", "label_maps": "label_map", "labels": "label"}
"""What is one tensor for the batch; all else of a sample is of its objects."""


def collate(samples: Sequence[Mapping[str, Tensor]]) -> dict[str, Any]:
    """Samples -> {"images": float32 [N, 3, H, W], "targets": N x what is of objects} and, where samples have them,
    "label_maps": int64 [N, H, W] and "labels": int64 [N].
    """
    whole = {key: name for key, name in WHOLE.items() if name in samples[0]}
    targets = [{name: sample[name] for name in sample.keys() - whole.values()} for sample in samples]
    return {key: torch.stack([sample[name] for sample in samples]) for key, name in whole.items()} | {
        "targets": targets
    }
