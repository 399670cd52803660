"""A model that asks the network for something while it is built is stopped with one line."""

import contextlib
import socket
import sys
import threading
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
import torch

from tests.zoo_configs import ROOT
from zoo.build import build_model
from zoo.downloads import refused_downloads
from zoo.errors import InputError
from zooport.verbs import run_verb

TASK = """
task = dict(type="SemanticSegmentation", classes=[dict(name="a", category_id=1), dict(name="b", category_id=2)])
preprocess = dict(size=(64, 64))
"""


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))


@pytest.fixture
def pretrained(tmp_path: Path) -> Path:
    """A config of torchvision's own builder, which downloads a backbone by default."""
    config = tmp_path / "pretrained.py"
    config.write_text(f'model = dict(type="torchvision.models.segmentation.fcn_resnet50", num_classes=2){TASK}')
    return config


def test_a_builder_that_downloads_is_stopped(pretrained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError) as raised:
        build_model(pretrained, weights=False)
    message = str(raised.value)
    assert message.startswith("model torchvision.models.segmentation.fcn_resnet50 tries to download something while it")
    assert "https://" in message
    assert message.endswith("and name the file of its weights as checkpoint")
    assert capsys.readouterr().err == "", "torch.hub's own line"


def test_it_is_one_line_of_the_command_line(pretrained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    images = map(str, sorted((ROOT / "zoo/data/digits/val/images").iterdir())[:2])
    torch.save({"a": torch.zeros(1)}, pretrained.with_name("weights.pth"))
    flags = ["--checkpoint", str(pretrained.with_name("weights.pth")), "--image", *images]
    assert run_verb(["deploy", str(pretrained), *flags, "--work-dir", str(pretrained.with_name("out"))]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "tries to download something while it is built" in err


def swallowing(address: str) -> None:
    with contextlib.suppress(Exception):
        urlopen(Request(address))


def test_a_library_that_swallows_the_refusal_is_stopped_as_well() -> None:
    address = "https://weights.invalid/net.pth"
    with pytest.raises(InputError, match=rf"Net tries to download .* \({address}\)"), refused_downloads("model Net"):
        swallowing(address)


def test_a_connection_of_any_other_client_is_stopped() -> None:
    with pytest.raises(InputError, match=r"\(weights.invalid\)"), refused_downloads("model Net"):
        socket.create_connection(("weights.invalid", 443))


def test_files_of_this_machine_are_read(tmp_path: Path) -> None:
    file = tmp_path / "weights.pth"
    file.write_bytes(b"content")
    with refused_downloads("model Net"):
        assert urlopen(file.as_uri()).read() == b"content"


def test_other_threads_and_later_requests_are_free() -> None:
    answers: list[object] = []
    with refused_downloads("model Net"):
        thread = threading.Thread(target=lambda: answers.append(socket.getaddrinfo("127.0.0.1", 80)))
        thread.start()
        thread.join()
    answers.append(socket.getaddrinfo("127.0.0.1", 80))
    assert len(answers) == 2


def failing() -> None:
    sys.stderr.write("of the model\n")
    raise ValueError("wrong")


def test_an_error_of_the_model_itself_stays_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="wrong"), refused_downloads("model Net"):
        failing()
    assert capsys.readouterr().err == "of the model\n"
