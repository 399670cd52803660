"""The wheel: what is in it, and what an installation of it does, in environments that know nothing of this checkout."""

import json
import os
import subprocess
import venv
import zipfile
from pathlib import Path

import cv2
import numpy as np
import pytest
from safetensors.torch import save_file

from tests.backends.conftest import Recipe, write_deployment
from tests.tools.tiny import CLASSES, SIZE, TinySegmentor
from tests.zooport.conftest import ROOT, Command
from zoo import list_models

MOST_BYTES = 2_000_000
WHERE = "; zooport's weights and data are only in a checkout: set ZOOPORT_HOME to the folder of one"


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


@pytest.mark.slow
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


@pytest.mark.slow
def test_it_lists_what_was_measured(export: Command, home: Path) -> None:
    listed = export(home, "zooport", "list", "--json", "-", "-q")
    models = {model["name"]: model for model in json.loads(listed.stdout)["models"]}
    assert (listed.returncode, len(models)) == (0, len(list_models())), listed.stderr
    assert models["fcn_r18_digits"]["measured"]["parameters"] > 0


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


@pytest.mark.slow
def test_it_says_where_the_shipped_weights_are_and_takes_them_from_a_checkout(export: Command, home: Path) -> None:
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
