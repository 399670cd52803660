"""What an evaluation is asked for, checked before the long work."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.evaluation.arguments import check_arguments
from zoo.errors import InputError

GOOD: dict[str, Any] = {
    "backends": ["pytorch", "onnxruntime"],
    "deployments": [],
    "checkpoint": None,
    "precision": None,
    "launcher": "none",
    "device": None,
    "limit": None,
    "batch_size": 1,
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"backends": ["onnxruntim"]}, 'unknown backend "onnxruntim"; nearest: "onnxruntime"'),
        ({"precision": "fp12"}, 'unknown precision "fp12"; nearest: "fp'),
        ({"precision": "fp16", "backends": []}, "--precision fp16: no backend to deploy for; give --backend"),
        ({"launcher": "slurm"}, '--launcher "slurm": expected one of none, pytorch'),
        ({"device": "gpu"}, 'device "gpu": expected cpu, cuda or cuda:N'),
        ({"limit": 0}, "--limit 0: expected 1 or more images"),
        ({"batch_size": 0}, "--batch-size 0: expected 1 or more"),
        ({"deployments": ["no/such/folder"]}, "--deployment no/such/folder: no such folder$"),
        ({"checkpoint": "none.safetensors"}, "checkpoint none.safetensors: no such file; nearest: "),
    ],
)
def test_faults(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_arguments(**{**GOOD, **changes})


def test_the_nearest_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "onnxruntime-fp32").mkdir()
    check_arguments(**{**GOOD, "deployments": [tmp_path / "onnxruntime-fp32"]})
    with pytest.raises(InputError, match='onnxruntime-fp23: no such folder; nearest: "onnxruntime-fp32"$'):
        check_arguments(**{**GOOD, "deployments": [tmp_path / "onnxruntime-fp23"]})


def test_addresses_are_no_files() -> None:
    check_arguments(**{**GOOD, "checkpoint": "torchvision://ResNet18_Weights.IMAGENET1K_V1"})
