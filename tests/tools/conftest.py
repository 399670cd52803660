"""The command line in this process, and fixtures of the tiny model."""

import importlib
import shutil
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from types import ModuleType

import cv2
import numpy as np
import pytest
from PIL import Image
from safetensors.torch import save_file

from tests.tools.tiny import CLASSES, SIZE, Run, Tiny, TinySegmentor
from zoo.registry import MODELS
from zooport.verbs import run_verb

IMAGES = 7
TRAINING = 5


@pytest.fixture(scope="session")
def deploy_tool() -> ModuleType:
    """The module of `zooport deploy`."""
    return importlib.import_module("zooport.commands.deploy")


@pytest.fixture
def deploy(capsys: pytest.CaptureFixture[str]) -> Callable[[Sequence[str]], Run]:
    """Run `zooport deploy` in this process."""
    return in_this_process("deploy", capsys)


@pytest.fixture
def evaluate(capsys: pytest.CaptureFixture[str]) -> Callable[[Sequence[str]], Run]:
    """Run `zooport evaluate` in this process."""
    return in_this_process("evaluate", capsys)


@pytest.fixture
def no_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports without plots, which take half of a tiny deploy's time: for tests of other things than reports."""
    page = "pipeline.report.deployment_page"
    nothing = {"id": "nothing", "title": "", "item": {}}
    monkeypatch.setattr(f"{page}.scatter_plots", lambda *_: [])
    monkeypatch.setattr(f"{page}.module_plots", lambda *_: [])
    monkeypatch.setattr(f"{page}.operator_plot", lambda *_: nothing)


def in_this_process(verb: str, capsys: pytest.CaptureFixture[str]) -> Callable[[Sequence[str]], Run]:
    """A function that runs a verb of the command line with arguments."""

    def run(arguments: Sequence[str]) -> Run:
        capsys.readouterr()
        code = run_verb([verb, *arguments])
        out, err = capsys.readouterr()
        return Run(code, out, err)

    return run


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    """A fresh tiny config."""
    return made_tiny(tmp_path)


def made_tiny(folder: Path) -> Tiny:
    """A tiny config in a folder, with its checkpoint and its images."""
    MODELS.register_module(name="TinySegmentor", module=TinySegmentor, force=True)
    made = Tiny(folder)
    made.write()
    save_file(TinySegmentor().state_dict(), folder / "tiny.safetensors")
    chance = np.random.default_rng(0)
    for number, path in enumerate(made.images):
        blocks = chance.integers(0, 255, (8, 12, 3)).astype(np.uint8)
        drawn = cv2.resize(blocks, (SIZE[1], SIZE[0]), interpolation=cv2.INTER_NEAREST)
        cv2.imwrite(str(path), np.roll(drawn, number, axis=0))
    return made


@pytest.fixture(scope="session")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tiny, Run]:
    """The tiny config that was deployed once, with its report and --json, and what that printed: only to be read."""
    made = made_tiny(tmp_path_factory.mktemp("deployed"))
    return made, run_quietly("deploy", made.with_images("--json", made.folder / "out.json"))


def run_quietly(verb: str, arguments: Sequence[str]) -> Run:
    """Run a verb in this process, for a fixture of several tests, which has no capsys."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run_verb([verb, *arguments])
    return Run(code, out.getvalue(), err.getvalue())


@pytest.fixture
def deployment(tiny: Tiny, deployed: tuple[Tiny, Run]) -> Path:
    """A deployment of the fresh tiny config, at its place."""
    shutil.copytree(deployed[0].place, tiny.place)
    return tiny.place


@pytest.fixture
def voc(tiny: Tiny) -> Tiny:
    """The tiny config with a data set: IMAGES images in VOC's layout, whose truth the model gets mostly right.

    Others, for calibration, are in the folder "training".
    """
    return made_voc(tiny)


def made_voc(tiny: Tiny) -> Tiny:
    """The data set beside a tiny config."""
    root = tiny.folder / "voc"
    for name in ("JPEGImages", "SegmentationClass", "ImageSets/Segmentation"):
        (root / name).mkdir(parents=True)
    chance = np.random.default_rng(5)
    for number in range(IMAGES):
        blocks = chance.integers(0, 255, (6 + number, 9, 3)).astype(np.uint8)
        drawn = cv2.resize(blocks, (SIZE[1], SIZE[0]), interpolation=cv2.INTER_NEAREST)
        cv2.imwrite(str(root / "JPEGImages" / f"{number}.jpg"), drawn)
        truth = np.argmax(np.dstack([np.full(drawn.shape[:2], 102), *np.moveaxis(drawn[..., ::-1], 2, 0)]), axis=2)
        truth[chance.random(truth.shape) < 0.2] = 0
        Image.fromarray(truth.astype(np.uint8), "L").save(root / "SegmentationClass" / f"{number}.png")
    (tiny.folder / "training").mkdir()
    for number in range(TRAINING):
        blocks = chance.integers(0, 255, (6 + number, 9, 3)).astype(np.uint8)
        drawn = cv2.resize(blocks, (SIZE[1], SIZE[0]), interpolation=cv2.INTER_NEAREST)
        cv2.imwrite(str(tiny.folder / f"training/{number}.png"), drawn)
    names = "".join(f"{number}\n" for number in range(IMAGES))
    (root / "ImageSets/Segmentation/val.txt").write_text(names, encoding="utf-8")
    tiny.write(
        f'dataset = dict(type="VOCSegmentation", root="{root}", split="val")\n'
        f'evaluator = dict(type="MeanIoU", num_classes={len(CLASSES)})\n'
    )
    return tiny


@pytest.fixture
def image_file(tmp_path: Path) -> Callable[..., Path]:
    """image_file(name, height, width): an image of that size."""

    def make(name: str, height: int = 64, width: int = 96) -> Path:
        path = tmp_path / name
        cv2.imwrite(str(path), np.random.default_rng(1).integers(0, 255, (height, width, 3)).astype(np.uint8))
        return path

    return make
