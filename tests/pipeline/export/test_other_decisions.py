"""What a module of the user's own decides by numbers is tried the other way: a trace would keep one side in silence."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.zoo_configs import ROOT
from zooport.verbs import run_verb

NET = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 2, 3)

    def forward(self, images):
        maps = self.conv(images)
        FORWARD
"""
CONFIG = """
model = dict(type="deciding_net.Net")
task = dict(type="Tensors")
preprocess = dict(size=(32, 32))
checkpoint = "net.pth"
"""
IMAGES = [str(path) for path in sorted((ROOT / "zoo/data/digits/val/images").iterdir())[:2]]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """With a config and its weights. What was imported from here is forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    torch.manual_seed(0)
    torch.save(torch.nn.ModuleDict({"conv": torch.nn.Conv2d(3, 2, 3)}).state_dict(), "net.pth")
    Path("deciding.py").write_text(CONFIG)
    yield tmp_path
    sys.modules.pop("deciding_net", None)


def deploy(forward: str, exporter: str = "torchscript") -> int:
    Path("deciding_net.py").write_text(NET.replace("FORWARD", forward))
    return run_verb(["deploy", "deciding.py", "--exporter", exporter, "--image", *IMAGES])


@pytest.mark.parametrize(
    "forward",
    [
        "return maps * 3 if images.mean() > 0.9 else maps",  # no photograph is so bright
        "return maps + int(images.max() < 0.5)",  # nor so dark
        "return maps if (images[:, 0] >= images[:, 2]).all() else maps[:, :1]",
    ],
)
def test_a_frozen_decision_is_a_missed_gate_that_names_the_line(
    forward: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert deploy(forward) == 3
    err = capsys.readouterr().err
    assert ", for which deciding_net.py:13 decides otherwise [1x3x32x32]: o0: " in err
    assert not Path("work_dirs/tensors/deciding/onnxruntime-fp32-torchscript").exists()


@pytest.mark.parametrize(
    "forward",
    [
        "return torch.where(images.mean() > 0.9, maps * 3, maps)",
        "assert not torch.isnan(images).any()\n        return maps",
        "assert images.mean() < 0.9, 'too bright'\n        return maps",  # raises for white: nothing to compare
        "return maps + 0 * images.mean().item()",  # another number, which changes nothing
    ],
)
def test_what_a_trace_records_rightly_is_deployed(forward: str) -> None:
    assert deploy(forward) == 0


def test_a_model_that_dynamo_refuses_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert deploy("return maps * 3 if images.mean() > 0.9 else maps", "dynamo") == 5
    err = capsys.readouterr().err
    assert "error: torch's dynamo exporter refused the model: GuardOnDataDependentSymNode" in err
    assert "GraphModule" not in err
