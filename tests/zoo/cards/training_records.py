"""Records of training to test with."""

import hashlib
from typing import Any

from zoo.cards import Reproduction, TrainingRecord, TrainingRun

CONFIG = "configs/segmentation/x.py"
RECIPE = {
    "iterations": 4,
    "batch_size": 2,
    "optimizer": {"type": "AdamW", "lr": 0.001},
    "crop": [64, 64],
    "size": [64, 96],
    "scale": [1.0, 1.0],
    "num_scenes": 2,
    "seed": 0,
    "warmup": 1,
    "max_grad_norm": 10.0,
    "backbone": None,
    "pretrain": None,
    "also": [],
}


def run(**fields: Any) -> TrainingRun:
    return TrainingRun(**{**facts(), **fields})


def facts() -> dict[str, Any]:
    return {
        "config": CONFIG,
        "seed": 0,
        "iterations": 4,
        "minutes": 12.3,
        "threads": 2,
        "device": "cpu",
        "amp": False,
        "torch": "2.15.0",
        "python": "3.11.7",
        "recipe": RECIPE,
        "began": "2026-01-02T03:04:05.678+00:00",
    }


def again(main: float | None = 60.0, change: float | None = 0.5, sha256: str = "0" * 64) -> Reproduction:
    figures, differences = {CONFIG: {"segmentation/mIoU": main}}, {CONFIG: {"segmentation/mIoU": change}}
    return Reproduction(**facts(), sha256=sha256, figures=figures, differences=differences)


def record(weights: bytes = b"weights", **fields: Any) -> TrainingRecord:
    known = {
        "file": "x.safetensors",
        "bytes": len(weights),
        "sha256": hashlib.sha256(weights).hexdigest(),
        "parameters": 7,
        "licence": "Apache-2.0",
        "figures": {CONFIG: {"segmentation/mIoU": 59.5, "segmentation/mAcc": None}},
        "datasets": {CONFIG: {"type": "DigitsSegmentation", "split": "gate", "images": 512}},
        "recipe": RECIPE,
        "training": run(),
    }
    return TrainingRecord(**{**known, **fields})
