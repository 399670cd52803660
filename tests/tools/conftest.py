"""The deploy tool in this process, and fixtures of the tiny model."""

import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import cv2
import numpy as np
import pytest
from safetensors.torch import save_file

from tests.tools.tiny import SIZE, Run, Tiny, TinySegmentor
from zoo.registry import MODELS

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture(scope="session")
def deploy_tool() -> ModuleType:
    """tools/deploy.py as a module."""
    sys.path.insert(0, str(TOOLS))
    try:
        return importlib.import_module("deploy")
    finally:
        sys.path.remove(str(TOOLS))


@pytest.fixture
def deploy(deploy_tool: ModuleType, capsys: pytest.CaptureFixture[str]) -> Callable[[Sequence[str]], Run]:
    """Run tools/deploy.py in this process."""

    def run(arguments: Sequence[str]) -> Run:
        capsys.readouterr()
        code = deploy_tool.main(arguments)
        out, err = capsys.readouterr()
        return Run(code, out, err)

    return run


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    """A fresh tiny config."""
    MODELS.register_module(name="TinySegmentor", module=TinySegmentor, force=True)
    made = Tiny(tmp_path)
    made.write()
    save_file(TinySegmentor().state_dict(), tmp_path / "tiny.safetensors")
    chance = np.random.default_rng(0)
    for number, path in enumerate(made.images):
        blocks = chance.integers(0, 255, (8, 12, 3)).astype(np.uint8)
        picture = cv2.resize(blocks, (SIZE[1], SIZE[0]), interpolation=cv2.INTER_NEAREST)
        cv2.imwrite(str(path), np.roll(picture, number, axis=0))
    return made


@pytest.fixture
def image_file(tmp_path: Path) -> Callable[..., Path]:
    """image_file(name, height, width): a picture of that size."""

    def make(name: str, height: int = 64, width: int = 96) -> Path:
        path = tmp_path / name
        cv2.imwrite(str(path), np.random.default_rng(1).integers(0, 255, (height, width, 3)).astype(np.uint8))
        return path

    return make
