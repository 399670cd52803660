"""The wheel, built once, and environments that know nothing of this checkout."""

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
LIBRARIES = Path(np.__file__).parents[1]
CORE = ("numpy", "numpy.libs", "cv2", "opencv_python.libs", "onnxruntime", "flatbuffers", "google", "packaging")
SOURCES = ("zoo", "rewriters", "backends", "pipeline", "zooport", "configs")
BUILD = "import sys; from setuptools.build_meta import build_wheel; print(build_wheel(sys.argv[1]))"
Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built of a copy, so that no earlier build of this checkout is in it."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in SOURCES:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([sys.executable, "-c", BUILD, out], cwd=source, check=True, capture_output=True)
    (path,) = out.glob("*.whl")
    return path


def install(wheel: Path, place: Path, libraries: Path) -> Command:
    """An environment with the wheel, and the libraries of a folder; its command `zooport`."""
    venv.create(place, symlinks=True)
    pip = [sys.executable, "-m", "pip", "--python", place / "bin" / "python", "install", "--quiet", "--no-compile"]
    subprocess.run([*pip, "--no-deps", "--no-index", wheel], check=True, env={"PATH": os.environ["PATH"]})
    (site,) = (place / "lib").glob("python*/site-packages")
    (site / "libraries.pth").write_text(f"{libraries}\n", encoding="utf-8")

    def run(folder: Path, *arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
        command = [place / "bin" / arguments[0], *map(str, arguments[1:])]
        environment = {"PATH": os.environ["PATH"], "HOME": str(place), "OMP_NUM_THREADS": "1", **variables}
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)

    return run


@pytest.fixture(scope="session")
def core(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Command:
    """With what production needs, and no other library."""
    place = tmp_path_factory.mktemp("core")
    libraries = place / "libraries"
    libraries.mkdir()
    for name in CORE:
        (libraries / name).symlink_to(LIBRARIES / name)
    return install(wheel, place / "venv", libraries)


@pytest.fixture(scope="session")
def export(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Command:
    """With all libraries that are here."""
    return install(wheel, tmp_path_factory.mktemp("export") / "venv", LIBRARIES)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder of the user's, with a `zoo/`, a `pipeline.py` and a `configs/` that end whatever imports them."""
    folder = tmp_path / "home"
    for name in ("zoo/__init__.py", "backends/__init__.py", "pipeline.py", "configs/mine.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("raise SystemExit('code of the user ran')\n", encoding="utf-8")
    return folder
