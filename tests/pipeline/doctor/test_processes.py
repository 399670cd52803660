"""The doctor's second process."""

from pathlib import Path

import pytest

from pipeline.doctor import processes
from pipeline.doctor.export_variant import ExportVariant
from pipeline.doctor.subject import Subject

NET = """
import multiprocessing, time, torch
if multiprocessing.parent_process() is not None:
    time.sleep(600)
class Net(torch.nn.Module):
    def forward(self, x):
        return x + 1
"""


def test_a_model_that_loads_in_no_second_process_ends_all_attempts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "LOADING", 0.5)
    (tmp_path / "net.py").write_text(NET)
    subject = Subject(f"{tmp_path / 'net.py'}:Net", ("x=float32[2]",))
    ways = [ExportVariant("torchscript", rewriters, 20) for rewriters in (False, True)]
    results = processes.attempts(subject, ways, seconds=0.1)
    assert [result.way for result in results] == ways
    assert all("loads in no second process" in result.error for result in results)
