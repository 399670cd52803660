"""The doctor's second process."""

from pathlib import Path

import pytest

from pipeline.doctor import processes
from pipeline.doctor.causes import cause_of_message
from pipeline.doctor.export_variant import ExportVariant
from pipeline.doctor.subject import Subject

NET = """
import torch
class Net(torch.nn.Module):
    def forward(self, x):
        return x + 1
"""


def test_a_model_that_does_not_load_again_in_time_ends_all_attempts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "LOADING", 0.01)  # no process with torch begins as quickly
    (tmp_path / "net.py").write_text(NET)
    subject = Subject(f"{tmp_path / 'net.py'}:Net", ("x=float32[2]",))
    ways = [ExportVariant("torchscript", rewriters, 20) for rewriters in (False, True)]
    steps: list[str] = []
    results = processes.attempts(subject, ways, seconds=0.01, begin=steps.append)
    assert ([result.way for result in results], steps) == (ways, ["load the model again"])
    assert {cause_of_message(result.error, "torchscript").name for result in results} == {"no-second-process"}
