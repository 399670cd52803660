"""The wheel: what is in it, and what an installation of it does, in environments that know nothing of this checkout."""

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
from safetensors.torch import save_file

from tests.backends.conftest import Recipe, write_deployment
from tests.tools.tiny import CLASSES, SIZE, TinySegmentor
from zoo import list_models

ROOT = Path(__file__).parents[2]
LIBRARIES = Path(np.__file__).parents[1]
CORE = ("numpy", "numpy.libs", "cv2", "opencv_python.libs", "onnxruntime", "flatbuffers", "google", "packaging")
MOST_BYTES = 2_000_000
SOURCES = ("zoo", "rewriters", "backends", "pipeline", "zooport", "configs")
BUILD = "import sys; from setuptools.build_meta import build_wheel; print(build_wheel(sys.argv[1]))"
WHERE = "; zooport's weights and data are in a checkout of it alone: set ZOOPORT_HOME to the folder of one"
Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
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


@pytest.fixture(scope="module")
def core(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Command:
    """With what production needs, and no other library."""
    place = tmp_path_factory.mktemp("core")
    libraries = place / "libraries"
    libraries.mkdir()
    for name in CORE:
        (libraries / name).symlink_to(LIBRARIES / name)
    return install(wheel, place / "venv", libraries)


@pytest.fixture(scope="module")
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


def test_it_has_the_code_and_the_configs_and_neither_weights_nor_data(wheel: Path) -> None:
    assert wheel.stat().st_size < MOST_BYTES
    names = set(zipfile.ZipFile(wheel).namelist())
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {
        "backends",
        "pipeline",
        "rewriters",
        "zoo",
        "zooport",
    }
    shipped = {
        f"zoo/{path.relative_to(ROOT).as_posix()}"
        for kind in ("*.py", "*.yaml")
        for path in (ROOT / "configs").rglob(kind)
    }
    assert len(shipped) > 50
    assert shipped <= names
    for top in ("backends", "pipeline", "rewriters", "zoo", "zooport"):
        code = {path.relative_to(ROOT).as_posix() for kind in ("*.py", "*.jinja") for path in (ROOT / top).rglob(kind)}
        assert code <= names
        assert f"{top}/py.typed" in names
    assert not [name for name in names if name.startswith(("zoo/weights/", "zoo/data/"))]
    assert not [name for name in names if name.endswith((".safetensors", ".jpg", ".png"))]


def test_the_core_predicts_from_a_folder_that_has_a_zoo(core: Command, home: Path, tmp_path: Path) -> None:
    deployment = write_deployment(tmp_path / "deployed", Recipe())
    cv2.imwrite(str(home / "a.png"), np.full((80, 90, 3), 130, np.uint8))
    done = core(home, "zooport", "predict", deployment, "--image", "a.png", "--out", "found", "--draw", "--json", "-")
    assert (done.returncode, sorted(path.name for path in (home / "found").iterdir())) == (
        0,
        ["a.json", "a_drawn.png"],
    ), done.stderr
    assert json.loads(done.stdout)["written"] == ["found/a.json", "found/a_drawn.png"]
    assert core(home, "python", "-m", "zooport", "--version").stdout == "zooport 0.1.0\n"
    loads = f"from zooport import load; print(len(load({str(deployment)!r}).manifest.classes))"
    assert core(home, "python", "-P", "-c", loads).stdout == "7\n"
    hidden = core(home, "python", "-c", loads)
    assert f"HiddenPackageError: {home / 'zoo'} hides zooport's own package" in hidden.stderr.splitlines()[-1]
    lacking = core(home, "zooport", "deploy", "fcn_r18_digits")
    assert (lacking.returncode, lacking.stderr) == (
        4,
        'error: rich is not installed, and this needs it: pip install "zooport[export]"\n',
    )


def test_a_config_of_ones_own_is_deployed_from_a_folder_that_has_a_zoo(export: Command, home: Path) -> None:
    source = (ROOT / "tests" / "tools" / "tiny.py").read_text(encoding="utf-8")
    (home / "tiny_net.py").write_text(source, encoding="utf-8")
    (home / "nets").mkdir()
    (home / "nets" / "images").mkdir()
    (home / "tiny_net.py").rename(home / "nets" / "tiny_net.py")
    save_file(TinySegmentor().state_dict(), home / "nets" / "tiny.safetensors")
    for number in range(2):
        pixels = np.random.default_rng(number).integers(0, 255, (*SIZE, 3)).astype(np.uint8)
        cv2.imwrite(str(home / "nets" / "images" / f"{number}.png"), pixels)
    (home / "nets" / "my_model.py").write_text(
        f"""
model = dict(type="tiny_net.TinySegmentor")
checkpoint = "tiny.safetensors"
task = dict(type="SemanticSegmentation", classes=[dict(name=n, category_id=i) for i, n in enumerate({CLASSES})])
preprocess = dict(size={SIZE})
export = dict(exporter="torchscript", opset=17, forward=dict(mode="tensor"))
dataset = dict(type="ImageFolder", root="images")
""",
        encoding="utf-8",
    )
    done = export(home, "zooport", "deploy", "nets/my_model.py", "--json", "-", "-q")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    deployment = home / json.loads(done.stdout)["deployment"]
    assert (deployment / "deployment.json").is_file()


BUILD_SHIPPED = f"""
import os
from zooport import build_model
try:
    build_model("fcn_r18_digits")
except Exception as error:
    print(error)
os.environ["ZOOPORT_HOME"] = {str(ROOT)!r}
print(type(build_model("fcn_r18_digits")).__name__)
"""


def test_it_says_where_the_shipped_weights_are_and_takes_them_from_a_checkout(export: Command, home: Path) -> None:
    listed = export(home, "zooport", "list", "--json", "-", "-q")
    models = {model["name"]: model for model in json.loads(listed.stdout)["models"]}
    assert (listed.returncode, len(models)) == (0, len(list_models())), listed.stderr
    assert models["fcn_r18_digits"]["measured"]["parameters"] > 0
    error, kind = export(home, "python", "-P", "-c", BUILD_SHIPPED).stdout.splitlines()
    assert error.startswith("checkpoint ")
    assert error.endswith(f"fcn_r18_digits.safetensors: no such file{WHERE}")
    assert kind == "EncoderDecoder"


@pytest.mark.slow
def test_pip_installs_the_core_alone(wheel: Path, home: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # which may have a checkout
    command = [python, "-m", "pip", "install", "--quiet", wheel]
    done = subprocess.run(command, env=alone, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no package index within reach: {done.stderr.strip().splitlines()[-1]}")
    deployment = write_deployment(tmp_path / "deployed", Recipe())
    cv2.imwrite(str(home / "a.png"), np.full((80, 90, 3), 130, np.uint8))
    command = [tmp_path / "venv" / "bin" / "zooport", "predict", deployment, "--image", "a.png", "--out", "found"]
    subprocess.run(command, cwd=home, check=True, env=alone)
    assert (home / "found" / "a.json").is_file()
    command = [python, "-m", "pip", "list"]
    installed = subprocess.run(command, check=True, env=alone, capture_output=True, text=True).stdout
    assert "torch" not in installed
    assert "rich" not in installed
