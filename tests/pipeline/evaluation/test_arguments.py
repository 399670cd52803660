"""What an evaluation is asked for, checked before the long work."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.evaluation.arguments import check_arguments, check_backends, requested_backends
from zoo.errors import InputError

GOOD: dict[str, Any] = {
    "backends": ["pytorch", "onnxruntime"],
    "deployments": [],
    "checkpoint": None,
    "precision": None,
    "launcher": "none",
    "limit": None,
    "batch_size": 1,
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"precision": "fp12"}, 'unknown precision "fp12"; nearest: "fp'),
        ({"precision": "fp16", "backends": []}, "--precision fp16: no backend to deploy for; also give --backend"),
        ({"launcher": "slurm"}, '--launcher "slurm": expected one of none, pytorch'),
        ({"limit": 0}, "--limit 0: expected 1 or more"),
        ({"batch_size": 0}, "--batch-size 0: expected 1 or more"),
        ({"deployments": ["no/such/folder"]}, "--deployment no/such/folder: no such folder$"),
        ({"checkpoint": "none.safetensors"}, "checkpoint none.safetensors: no such file; nearest: "),
    ],
)
def test_faults(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_arguments(**{**GOOD, **changes})


@pytest.mark.parametrize(
    ("backends", "device", "message"),
    [
        (["onnxruntim"], None, 'unknown backend "onnxruntim"; nearest: "onnxruntime"'),
        (["pytorch"], "gpu", 'device "gpu": expected cpu, cuda or cuda:N'),
        (["pytorch", "onnxruntime"], "gpu", 'device "gpu": expected cpu, cuda or cuda:N'),
        ([], "gpu", 'device "gpu": expected cpu, cuda or cuda:N'),
    ],
)
def test_backends_and_their_devices(backends: list[str], device: str | None, message: str) -> None:
    check_backends(["pytorch", "onnxruntime"], (), "cuda:1")
    with pytest.raises(InputError, match=message):
        check_backends(requested_backends(backends, ()), (), device)


def test_the_nearest_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "onnxruntime-fp32").mkdir()
    check_arguments(**{**GOOD, "deployments": [tmp_path / "onnxruntime-fp32"]})
    with pytest.raises(InputError, match='onnxruntime-fp23: no such folder; nearest: "onnxruntime-fp32"$'):
        check_arguments(**{**GOOD, "deployments": [tmp_path / "onnxruntime-fp23"]})


def test_addresses_are_no_files() -> None:
    check_arguments(**{**GOOD, "checkpoint": "torchvision://ResNet18_Weights.IMAGENET1K_V1"})
