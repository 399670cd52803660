"""`zooport init FILE.py:NAME`."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.zoo_configs import ROOT
from zoo.build import build_model
from zoo.config import load_config
from zoo.errors import InputError
from zoo.own_model import ModelRequest, WrittenConfig, write_config
from zooport.verbs import run_verb

PATH = {"PYTHONPATH": str(ROOT)}
NET = """
from torch import nn

SIDE = 3


class OwnNet(nn.Module):
    def __init__(self, channels, side=SIDE, *, bias=True):
        super().__init__()
        self.conv = nn.Conv2d(3, channels, side, padding="same", bias=bias)

    def forward(self, images):
        return self.conv(images)


def small_net(*, channels):
    return OwnNet(channels)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """With `own_net.py`, and weights of 2 channels. What was imported from here is forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    Path("own_net.py").write_text(NET)
    torch.save({"conv.weight": torch.zeros(2, 3, 3, 3), "conv.bias": torch.zeros(2)}, "trained.pth")
    yield tmp_path
    sys.modules.pop("own_net", None)


def init(source: str = "own_net.py:OwnNet", **changes: object) -> WrittenConfig:
    fields: dict[str, object] = {
        "weights": Path("trained.pth"),
        "task": "SemanticSegmentation",
        "classes": ("road", "sky"),
        "size": (64, 96),
        "arguments": {"channels": 2},
    }
    return write_config(ModelRequest(source, **(fields | changes)))


@pytest.mark.usefixtures("folder")
class TestTheConfig:
    def test_it_is_beside_the_file_and_builds_the_model(self) -> None:
        written = init()
        assert (written.path, written.classes) == (Path("trained.py"), ("road", "sky"))
        config = load_config(written.path)
        assert config.model == {"type": "own_net.OwnNet", "channels": 2}
        assert config.content["preprocess"]["size"] == (64, 96)
        assert type(build_model(config)).__name__ == "OwnNet"

    def test_a_function_that_makes_the_model(self) -> None:
        config = load_config(init("own_net.py:small_net").path)
        assert type(build_model(config)).__name__ == "OwnNet"

    def test_from_another_folder(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (folder / "elsewhere").mkdir()
        monkeypatch.chdir(folder / "elsewhere")
        written = init("../own_net.py:OwnNet", weights=Path("../trained.pth"))
        assert written.path == Path("../trained.py")
        assert load_config(written.path).checkpoint == "trained.pth"

    @pytest.mark.parametrize(
        "text",
        [
            f"if True:{NET}".replace("\n", "\n    "),
            f"try:{NET}".replace("\n", "\n    ") + "\nexcept ImportError:\n    raise\n",
            NET.replace("class OwnNet", "class Net").replace("def small_net", "OwnNet: type = Net\n\n\ndef small_net"),
        ],
    )
    def test_a_class_wherever_it_is_defined(self, text: str) -> None:
        Path("own_net.py").write_text(text)
        assert load_config(init().path).model["type"] == "own_net.OwnNet"

    def test_weights_of_the_modules_own_name(self) -> None:
        Path("trained.pth").rename("own_net.pth")
        written = init(weights=Path("own_net.pth"))
        assert written.path == Path("own_net_config.py")
        assert Path("own_net.py").read_text() == NET
        assert load_config(written.path).model["type"] == "own_net.OwnNet"

    def test_without_a_task_it_is_any_module(self) -> None:
        written = init(task=None, classes=())
        assert load_config(written.path).content["task"] == {"type": "Tensors"}
        assert len(written.path.read_text().splitlines()) <= 15


@pytest.mark.usefixtures("folder")
class TestFaults:
    @pytest.mark.parametrize(
        ("source", "changes", "message"),
        [
            ("own_net.py:OwnNett", {}, 'own_net.py has no "OwnNett"; nearest: "OwnNet"'),
            ("empty.py:Net", {}, 'empty.py has no "Net"; there are none'),
            ("own_net.py:OwnNet", {"classes": ("a", "", "b")}, "--classes: name 2 is empty; give each class a name"),
            ("own_net.py:OwnNet", {"arguments": {"type": "os.getcwd"}}, '--arg: "type" is not the name of an argument'),
            (
                "own_net.py:OwnNet",
                {"out": Path("sub.py"), "force": True},
                "--out sub.py: this is a folder; give",
            ),
            ("own_net.py", {}, r"which class\? Give own_net.py:NAME, NAME one of OwnNet"),
            ("none.py:OwnNet", {}, "none.py: no such file; give FILE.py:NAME"),
            ("own-net.py:OwnNet", {}, "own-net.py: Python cannot import a module of this name; rename it"),
            ("own_net.py:OwnNet", {"arguments": {}}, "own_net.py:OwnNet needs channels; give --arg channels=VALUE"),
            ("own_net.py:small_net", {"arguments": {}}, "own_net.py:small_net needs channels; give --arg channels="),
            ("own_net.py:OwnNet", {"size": None}, "no size; give --size HEIGHT WIDTH"),
            ("own_net.py:OwnNet", {"task": "Semantic"}, '--task Semantic: unknown task; nearest: "SemanticSeg'),
            ("own_net.py:OwnNet", {"task": "Detection3D"}, "--task Detection3D: its models take no images; write the"),
            ("own_net.py:OwnNet", {"classes": ()}, "no classes; give --classes NAME ..., index = the model's own id"),
            ("own_net.py:OwnNet", {"classes": ("a", "a")}, '--classes: "a" appears twice'),
            ("own_net.py:OwnNet", {"task": "SuperResolution"}, "--classes with --task SuperResolution: it has none"),
            ("own_net.py:OwnNet", {"weights": None}, "no weights; give --weights FILE"),
            ("own_net.py:OwnNet", {"weights": Path("x.pth")}, "--weights x.pth: no such file; give the state dict"),
            ("own_net.py:OwnNet", {"out": Path("sub/x.py")}, "the config must be beside own_net.py.* give --out x.py"),
            ("own_net.py:OwnNet", {"out": Path("x.txt")}, "--out x.txt: expected a name that ends in .py"),
            (
                "own_net.py:OwnNet",
                {"arguments": {"channels": 3}},
                r"2 of another shape \(conv.weight \[2, 3, 3, 3\] for",
            ),
            ("own_net.py:OwnNet", {"arguments": {"channels": 2, "width": 4}}, "unexpected keyword argument 'width'"),
        ],
    )
    def test_of_a_request(self, source: str, changes: dict[str, object], message: str, folder: Path) -> None:
        Path("empty.py").touch()
        Path("sub.py").mkdir()
        before = sorted(folder.iterdir())
        with pytest.raises(InputError, match=message) as raised:
            init(source, **changes)
        assert "\n" not in str(raised.value)
        assert [path for path in sorted(folder.iterdir()) if path.name != "__pycache__"] == before

    def test_a_file_that_is_no_python(self) -> None:
        Path("own_net.py").write_text("class OwnNet(\n")
        with pytest.raises(InputError, match="own_net.py, line 1: '\\(' was never closed"):
            init()

    def test_nothing_is_written_over_without_force(self) -> None:
        Path("trained.py").write_text("model = 1")
        with pytest.raises(InputError, match="trained.py: this file already exists; give another --out, or --force"):
            init()
        assert Path("trained.py").read_text() == "model = 1"
        assert load_config(init(force=True).path).model["type"] == "own_net.OwnNet"

    @pytest.mark.parametrize(
        ("text", "out", "message"),
        [
            (NET, "own_net.py", "--out own_net.py: the config is made of this file and would replace it; give another"),
            ("class Layer: ...", "layers.py", "layers.py: --force replaces a config, and this file is none"),
            ("", "new.py", "new.py: --force replaces a config, and this file is none"),
        ],
    )
    def test_force_replaces_configs_alone(self, text: str, out: str, message: str) -> None:
        Path(out).write_text(text)
        with pytest.raises(InputError, match=message) as raised:
            init(out=Path(out), force=True)
        assert "\n" not in str(raised.value)
        assert Path(out).read_text() == text

    def test_a_forward_that_downloads(self) -> None:
        download = "return self.conv(__import__('urllib.request').request.urlopen('https://weights.invalid/net'))"
        Path("own_net.py").write_text(NET.replace("return self.conv(images)", download))
        message = "model own_net.OwnNet tries to download something while it runs .https://weights.invalid/net."
        with pytest.raises(InputError, match=message):
            init()
        assert not Path("trained.py").exists()

    def test_a_forward_that_fails_is_left_to_a_deploy(self) -> None:
        Path("own_net.py").write_text(NET.replace("self.conv(images)", "self.conv(images[:, :2])"))
        assert init().path.is_file()


@pytest.mark.parametrize("arguments", [["nothing"], ["torchvison:ssd"], ["own_net.py:Ow", "--weights", "trained.pth"]])
def test_a_typo_is_answered_without_torch(arguments: list[str], folder: Path) -> None:
    code = "import sys; from zooport.verbs import run_verb; print(run_verb(sys.argv[1:]), 'torch' in sys.modules)"
    command = [sys.executable, "-c", code, "init", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, env=os.environ | PATH)
    assert done.stdout == "2 False\n"


@pytest.mark.usefixtures("folder")
class TestTheCommand:
    FLAGS = ("--weights", "trained.pth", "--task", "SemanticSegmentation", "--classes", "road", "sky")

    def test_it_says_what_comes_next(self, capsys: pytest.CaptureFixture[str]) -> None:
        flags = [*self.FLAGS, "--size", "64", "96", "--arg", "channels=2", "side=3"]
        assert run_verb(["init", "own_net.py:OwnNet", *flags]) == 0
        assert capsys.readouterr().out.splitlines()[-2:] == [
            "config: trained.py (semantic-segmentation, road, sky)",
            "next: zooport deploy trained.py --image IMAGE IMAGE",
        ]

    def test_many_classes_are_counted(self, capsys: pytest.CaptureFixture[str]) -> None:
        names = [f"class_{number}" for number in range(13)]
        torch.save({"conv.weight": torch.zeros(13, 3, 3, 3), "conv.bias": torch.zeros(13)}, "trained.pth")
        flags = [*self.FLAGS[:-2], *names, "--size", "64", "96", "--arg", "channels=13"]
        assert run_verb(["init", "own_net.py:OwnNet", *flags]) == 0
        line = capsys.readouterr().out.splitlines()[-2]
        assert line == f"config: trained.py (semantic-segmentation, {', '.join(names[:10])} and 3 more)"

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ([], "error: nothing to start from: give SOURCE, a model of your own, or --data"),
            (["--data", "x.json"], "error: nothing to start from: give --base"),
            (["--weights", "x.pth"], "error: --weights: give SOURCE, the model to write a config for"),
            (["torchvison:ssd", "--weights", "trained.pth"], 'unknown library "torchvison"; nearest: "torchvision"'),
            (["nothing"], "error: source nothing: no such file or folder; give one of CONFIG.py, FILE.py:NAME, "),
            (
                ["me/my-detr"],
                "FOLDER; a model of the Hugging Face Hub becomes a FOLDER with: hf download me/my-detr --l",
            ),
            (["nets/trained.pth"], "timm:NAME, torchvision:NAME, FOLDER\n"),
            (["trained.pth"], "error: source trained.pth is not a model; give one of CONFIG.py, FILE.py:NAME, "),
            (["own_net.py:OwnNet", "--base", "x"], "error: --base: it is for data of your own, and SOURCE own_net.py"),
            (["own_net.py:OwnNet", "--arg", "channels"], "error: --arg channels: expected NAME=VALUE"),
            (["own_net.py:OwnNet", "--arg", "a=1", "a=2"], "error: --arg a=2: a is given twice; leave one out"),
            (["own_net.py:OwnNet", "--arg", "a={[]:1}"], "error: own_net.py:OwnNet: no weights; give --weights FILE"),
            (["own_net.py:OwnNet", "--clases", "a"], 'error: unknown argument --clases; nearest: "--classes"'),
        ],
    )
    def test_wrong_flags(self, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert run_verb(["init", *arguments]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert message in err
