"""Production is light: a deployment loads and runs with numpy, opencv and onnxruntime alone."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import cv2
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAVY = (
    "torch",
    "torchvision",
    "mmengine",
    "onnx",
    "onnxscript",
    "onnx_graphsurgeon",
    "openvino",
    "rich",
    "scipy",
    "PIL",
)
OTHERS = ("scipy", "PIL", "jinja2")
NVIDIAS = ("tensorrt", "tensorrt_rtx", "cuda")

RUN = """
import sys
import cv2
from backends import available, load
available()
image = cv2.imread(sys.argv[1])
for folder in sys.argv[2:]:
    with load(folder) as model:
        results = model([image, image])
        model.task.draw(image, results[1])
        assert [each.result for each in model.stream(sys.argv[1])] == results[:1]
        print(type(results[0]).__name__)
"""

BLOCK = f"""
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {HEAVY + OTHERS + NVIDIAS!r}:
            raise ImportError("production imported " + name)
sys.meta_path.insert(0, Refuse())
"""


def run(python: str | Path, code: str, tmp_path: Path, folders: list[Path]) -> subprocess.CompletedProcess[str]:
    """Run the code in a fresh process that finds our packages by PYTHONPATH alone."""
    sample_image = tmp_path / "image.png"
    cv2.imwrite(str(sample_image), np.full((80, 90, 3), 130, np.uint8))
    command = [str(python), "-W", "error", "-c", code, str(sample_image), *map(str, folders)]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_the_blocker_blocks(tmp_path: Path) -> None:
    done = run(sys.executable, f"{BLOCK}\nimport torch", tmp_path, [])
    assert "ImportError: production imported torch" in done.stderr


def test_nothing_heavy_is_imported(tmp_path: Path, detector: Path, segmentor: Path) -> None:
    done = run(sys.executable, BLOCK + RUN, tmp_path, [detector, segmentor])
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["DetectionResult", "SegmentationResult"]
    assert done.stderr == ""


def test_importing_backends_does_not_import_onnxruntime(tmp_path: Path) -> None:
    done = run(
        sys.executable, "import sys, backends; backends.available(); print('onnxruntime' in sys.modules)", tmp_path, []
    )
    assert done.stdout.strip() == "False", done.stderr


def test_no_package_is_searched_for_extensions_that_nobody_names(tmp_path: Path, detector: Path) -> None:
    code = """
import sys
import cv2, numpy, onnxruntime
before = "importlib.metadata" in sys.modules
from backends import load
load(sys.argv[2])(cv2.imread(sys.argv[1]))
print(before, "importlib.metadata" in sys.modules)
"""
    before, after = run(sys.executable, code, tmp_path, [detector]).stdout.split()
    assert before == after


def test_a_call_imports_no_other_task_kind_or_backend(tmp_path: Path, detector: Path) -> None:
    code = """
import sys
import cv2, numpy, onnxruntime
before = set(sys.modules)
from backends import load
load(sys.argv[2])(cv2.imread(sys.argv[1]))
print(*set(sys.modules) - before)
"""
    imported = set(run(sys.executable, code, tmp_path, [detector]).stdout.split())
    assert {"zoo.tasks.detection", "zoo.input_kinds.image", "backends.onnxruntime"} <= imported
    others = (
        *("zoo.tasks.detection3d", "zoo.tasks.instance_masks", "zoo.tasks.tensors", "zoo.input_kinds.points"),
        *("backends.openvino", "backends.tensorrt", "backends.serving", "backends.pillar_runner"),
        *("backends.streaming", "backends.pool", "zoo.sources"),
        *("concurrent.futures", "logging", "tempfile", "zipfile"),
    )
    assert imported.isdisjoint(others), imported & set(others)


@pytest.mark.slow
def test_a_bare_environment_is_enough(tmp_path: Path, detector: Path, segmentor: Path) -> None:
    venv.create(tmp_path / "bare", with_pip=True)
    python = tmp_path / "bare" / ("Scripts" if os.name == "nt" else "bin") / "python"
    install = [python, "-m", "pip", "install", "--quiet", "numpy", "opencv-python", "onnxruntime"]
    installed = subprocess.run(install, capture_output=True, text=True, check=False)
    if installed.returncode:
        pytest.skip(f"no package index within reach: {installed.stderr.strip().splitlines()[-1]}")
    done = run(python, RUN, tmp_path, [detector, segmentor])
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["DetectionResult", "SegmentationResult"]
