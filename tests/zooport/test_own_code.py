"""What a module of the user's own raises, or ends, is one line with its place and exit code 2."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.zoo_configs import ROOT
from zoo.build import build_model
from zoo.errors import InputError
from zoo.own_code import is_own
from zooport.verbs import run_verb

NET = """
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 2, 3, padding=1)
        INIT

    def forward(self, images):
        FORWARD
        return self.conv(images)
"""
IMAGES = [str(path) for path in sorted((ROOT / "zoo/data/digits/val/images").iterdir())[:2]]
DEPLOY = ("deploy", "failing.py", "--image", *IMAGES)
INIT = ("init", "failing_net.py:Net", "--weights", "net.pth", "--size", "64", "64")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """With a config and its weights. What was imported from here is forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    torch.save({"conv.weight": torch.zeros(2, 3, 3, 3), "conv.bias": torch.zeros(2)}, "net.pth")
    Path("failing.py").write_text(
        'model = dict(type="failing_net.Net")\ntask = dict(type="Tensors")\npreprocess = dict(size=(64, 64))\n'
        'checkpoint = "net.pth"\n'
    )
    yield tmp_path
    sys.modules.pop("failing_net", None)


def write(init: str = "pass", forward: str = "pass") -> None:
    Path("failing_net.py").write_text(NET.replace("INIT", init).replace("FORWARD", forward))


@pytest.mark.parametrize("command", [DEPLOY, INIT])
@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("self.nothing", "AttributeError: 'Net' object has no attribute 'nothing'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("import no_such_library", "ModuleNotFoundError: No module named 'no_such_library'"),
        ("raise StopIteration", "StopIteration"),
        ("raise NotImplementedError", "NotImplementedError"),
        ("raise ValueError('a\\nb')", "ValueError: a b"),
    ],
)
def test_a_constructor(
    command: tuple[str, ...], statement: str, reason: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(init=statement)
    assert run_verb(command) == 2
    err = capsys.readouterr().err
    place = f"{folder / 'failing_net.py'}, line 9, in __init__"
    cure = "check the arguments of model"
    assert err == f"error: model failing_net.Net cannot be built from its config: {reason}, at {place}; {cure}\n"
    assert not Path("net.py").exists()
    assert not Path("work_dirs").exists()


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("raise SystemExit(0)", "your code ends the program: SystemExit: 0"),
        ("raise SystemExit(3)", "your code ends the program: SystemExit: 3"),
        ("raise AttributeError('x')", "your code fails: AttributeError: x"),
        ("self.conv(images[:, :2])", "your code fails: RuntimeError: Given groups=1"),
    ],
)
def test_a_forward(statement: str, reason: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(forward=statement)
    assert run_verb(DEPLOY) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error: {reason}")
    assert f", at {folder / 'failing_net.py'}, line 12, in forward; correct it, -v shows the calls" in err
    assert err.count("\n") == 1


@pytest.mark.usefixtures("folder")
def test_an_exit_in_a_constructor_that_the_doctor_calls(capsys: pytest.CaptureFixture[str]) -> None:
    write(init="raise SystemExit(0)")
    assert run_verb(["doctor", "failing_net.py:Net", "--input", "images=float32[1,3,8,8]"]) == 2
    assert "failing_net.py:Net cannot be made without arguments: SystemExit: 0" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_an_exit_is_an_error_in_python_as_well() -> None:
    write(init="raise SystemExit(0)")
    with pytest.raises(InputError, match="SystemExit: 0"):
        build_model("failing.py")


def test_what_the_checkout_runs_is_not_the_users(tmp_path: Path) -> None:
    for name in ("tools/update_zoo.py", "benchmarks/measured.py", "zoo/errors.py"):
        assert not is_own(str(ROOT / name))
    assert is_own(str(tmp_path / "tools/net.py"))


@pytest.mark.parametrize(
    "statement",
    [
        "images = images + torch.rand(1)",
        "images = nn.functional.dropout(images)",
        "self.calls = getattr(self, 'calls', 0) + 1; images = images + self.calls",
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_model_that_does_not_equal_itself(statement: str, capsys: pytest.CaptureFixture[str]) -> None:
    torch.save({"conv.weight": torch.ones(2, 3, 3, 3), "conv.bias": torch.zeros(2)}, "net.pth")
    write(forward=f"import torch; {statement}")
    assert run_verb(DEPLOY) == 3
    assert "gives another answer to the same input each time" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_a_model_that_changes_its_input_in_place_is_deployed() -> None:
    torch.save({"conv.weight": torch.ones(2, 3, 3, 3), "conv.bias": torch.zeros(2)}, "net.pth")
    write(forward="images.add_(1)")
    assert run_verb(DEPLOY) == 0
