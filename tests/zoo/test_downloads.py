"""A model that asks the network for something while it is built, or runs, is stopped with one line."""

import contextlib
import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from urllib.request import Request, urlopen

import cv2
import numpy as np
import pytest
import torch
from torch.utils.cpp_extension import check_compiler_ok_for_platform

from pipeline.training.trainable import Trainable
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


def connect_to(address: tuple[str, int]) -> None:
    with socket.socket() as one:
        one.settimeout(0.1)
        one.connect(address)


def in_a_thread(action: Callable[[], object]) -> None:
    thread = threading.Thread(target=action)
    thread.start()
    thread.join()


def in_a_pool(action: Callable[[], object]) -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(action).exception()


ELSEWHERE = partial(swallowing, "https://weights.invalid/net.pth")


@pytest.mark.parametrize(
    ("action", "wish"),
    [
        (lambda: connect_to(("192.0.2.1", 80)), r"download something .* \(192.0.2.1:80\); build it without"),
        (lambda: in_a_thread(ELSEWHERE), r"download something .* \(https://weights.invalid/net.pth\)"),
        (lambda: in_a_pool(ELSEWHERE), r"download something .* \(https://weights.invalid/net.pth\)"),
        (lambda: in_a_thread(lambda: in_a_thread(ELSEWHERE)), r"download something .* \(https://weights.invalid/net.p"),
        (
            lambda: os.system("true https://x"),
            r"start a program .* \(true https://x\); a deployment starts no programs",
        ),
        (lambda: subprocess.run(["true", "https://x"], check=True), r"start a program while it is built \(true https:"),
    ],
)
def test_what_asks_by_other_means_is_stopped(
    action: Callable[[], object], wish: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError, match=f"model Net tries to {wish}"), refused_downloads("model Net"):
        action()
    assert capsys.readouterr() == ("", "")


def test_a_thread_is_guarded_whenever_the_one_that_started_it_is() -> None:
    with ThreadPoolExecutor(1) as pool:
        with refused_downloads("model Net"):
            pool.submit(int).result()
        assert pool.submit(is_refused).result() is False
        with pytest.raises(InputError, match=r"\(192.0.2.1:80\)"), refused_downloads("model Net"):
            assert pool.submit(is_refused).result() is True


def is_refused() -> bool:
    """Whether a connection is refused by us, and not by the network."""
    try:
        connect_to(("192.0.2.1", 80))
    except OSError:
        return False
    except Exception:  # noqa: BLE001 - of a private class
        return True
    return False


def test_other_threads_and_later_requests_are_free() -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()  # a thread from before
        with refused_downloads("model Net"):
            assert pool.submit(is_refused).result() is False
    assert is_refused() is False


def test_it_is_silent_while_the_interpreter_ends() -> None:
    """torch.compile removes its folders then, when the modules' names are gone."""
    program = (
        "import ctypes, sys, types\n"
        "class Late:\n"
        "    def __del__(self, audit=sys.audit): audit('os.system', b'true')\n"
        "early = sys.modules['early'] = types.ModuleType('early'); early.late = Late()\n"
        "import zoo.downloads\n"
        "with zoo.downloads.refused_downloads('the model'): pass\n"
        # alive to the last: the interpreter then empties the module that came last first
        "for module in (early, zoo.downloads): ctypes.pythonapi.Py_IncRef(ctypes.py_object(module))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stderr == ""


def test_this_machine_and_the_programs_of_libraries_are_free(tmp_path: Path) -> None:
    with refused_downloads("model Net"):
        with socket.create_server(("127.0.0.1", 0)) as server:
            connect_to(server.getsockname())
        with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
            server.bind(str(tmp_path / "socket"))
            server.listen()
            client.connect(str(tmp_path / "socket"))
        socket.getaddrinfo("localhost", 80)
        check_compiler_ok_for_platform("true")  # torch asks it for its version


def failing() -> None:
    sys.stdout.write("of the model\n")
    sys.stderr.write("of the model\n")
    raise ValueError("wrong")


def test_an_error_of_the_model_itself_stays_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="wrong"), refused_downloads("model Net"):
        failing()
    assert capsys.readouterr() == ("of the model\n", "of the model\n")


def test_what_torch_hub_prints_before_it_asks_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match=r"\(https://weights.invalid/net.pth\)"), refused_downloads("model Net"):
        torch.hub.load_state_dict_from_url("https://weights.invalid/net.pth")
    assert capsys.readouterr() == ("", "")


def test_a_log_that_the_model_opened_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    with refused_downloads("model Net"):
        handler = logging.StreamHandler()
        handler.stream.write("one, ")
    handler.stream.write("two")
    assert capsys.readouterr().err == "one, two"


def test_a_guard_in_a_guard_names_the_part(capsys: pytest.CaptureFixture[str]) -> None:
    def build() -> None:
        sys.stdout.write("Downloading")
        with refused_downloads("its encoder"):
            swallowing("https://weights.invalid/net.pth")

    with pytest.raises(InputError, match="its encoder tries to download"), refused_downloads("model Net"):
        build()
    assert capsys.readouterr().out == ""


NET = """
from urllib.request import urlopen

from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 2, 3, padding=1)

    def forward(self, images, *labels, **options):
        urlopen("https://weights.invalid/net.pth")
        return self.conv(images)
"""
RUNS = (
    "the model tries to download something while it runs (https://weights.invalid/net.pth); a deployment has no "
    "network: make what it needs a part of the module, whose weights the checkpoint holds, or read it from a file when "
    "the module is built"
)


@pytest.fixture
def downloading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A config of a module whose forward downloads."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "downloading_net.py").write_text(NET)
    torch.save({"conv.weight": torch.zeros(2, 3, 3, 3), "conv.bias": torch.zeros(2)}, tmp_path / "net.pth")
    config = tmp_path / "config.py"
    config.write_text(f'model = dict(type="downloading_net.Net"){TASK}checkpoint = "net.pth"')
    yield config
    sys.modules.pop("downloading_net", None)


@pytest.mark.parametrize("verb", ["deploy", "align", "evaluate"])
def test_a_forward_that_downloads_is_stopped(verb: str, downloading: Path, capsys: pytest.CaptureFixture[str]) -> None:
    images = sorted((ROOT / "zoo/data/digits/val/images").iterdir())[:2]
    flags = ["--image", *map(str, images)]
    if verb == "evaluate":
        (downloading.parent / "one.png").write_bytes(cv2.imencode(".png", np.ones((64, 64), np.uint8))[1].tobytes())
        with downloading.open("a") as file:
            file.write('\ndataset = dict(type="LabelMaps", images=".", label_maps=".")')
            file.write('\nevaluator = dict(type="MeanIoU", num_classes=2)\n')
        flags = ["--backend", "pytorch"]
    assert run_verb([verb, str(downloading), *flags]) == 2
    err = capsys.readouterr().err.splitlines()[-1]
    assert err.startswith("error: ")
    assert err.endswith(RUNS)


def test_a_training_step_that_downloads_is_stopped(downloading: Path) -> None:
    model = Trainable(build_model(downloading))
    with pytest.raises(InputError, match="tries to download something while it runs"):
        model(images=torch.zeros(1, 3, 8, 8), label_maps=torch.zeros(1, 8, 8, dtype=torch.long))


def test_an_examination_is_stopped(downloading: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = downloading.with_name("downloading_net.py")
    assert run_verb(["doctor", f"{file}:Net", "--input", "images=float32[1,3,8,8]"]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"error: {RUNS}"
    file.write_text(NET.replace("        self.conv", '        urlopen("https://weights.invalid/a")\n        self.conv'))
    assert run_verb(["doctor", f"{file}:Net", "--input", "images=float32[1,3,8,8]"]) == 2
    assert f"{file}:Net tries to download something while it is built" in capsys.readouterr().err
