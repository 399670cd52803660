"""Extensions that are installed as a package leave production light: none of them brings PyTorch to a load."""

import os
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import onnx
import onnx.parser

from tests.backends.test_light_imports import BLOCK

ROOT = Path(__file__).parents[2]
OWN = Path(__file__).parent
ENTRY_POINTS = """
[zooport.backends]
onnx-reference = onnx_reference
[zooport.tasks]
brightness = brightness
[zooport.input_kinds]
points = point_clouds
[zooport.families]
spots = spot_detector
"""
GRAPH = """
<ir_version: 10, opset_import: ["" : 20]>
mean (float[batch, 3, 64, 96] images) => (float[batch] brightness) {
    axes = Constant <value_ints = [1, 2, 3]> ()
    mean = ReduceMean <keepdims = 0> (images, axes)
    white = Constant <value_float = 255.0> ()
    brightness = Mul (mean, white)
}
"""
CODE = """
import sys
from pathlib import Path
import cv2
from backends import available, load
from zoo.input_kinds import input_kind
from zoo.manifest import Manifest, file_record
from zoo.preprocess import Preprocess
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec

Manifest(
    name="mean",
    task="brightness",
    classes=(),
    preprocess=Preprocess((64, 96), "stretch"),
    inputs=(TensorSpec("images", "float32", ("batch", 3, 64, 96)),),
    outputs=(TensorSpec("brightness", "float32", ("batch",)),),
    axes={"batch": AxisRange(1, 1, 4)},
    output_level="final",
    backend="onnxruntime",
    precision={"stored": "fp32", "computed": "fp32"},
    exporter="dynamo",
    opset=20,
    versions={},
    files={"model.onnx": file_record(Path(sys.argv[1], "model.onnx"))},
).write(Path(sys.argv[1]))
assert "onnx-reference" in available()
assert input_kind("xyz").noun == "point cloud"
with load(sys.argv[1]) as model:
    print(model.task.name, round(float(model(cv2.imread(sys.argv[2])).brightness)))
assert "spot_detector" not in sys.modules
"""


def test_a_load_with_extensions_of_every_group_imports_nothing_heavy(tmp_path: Path) -> None:
    folder = tmp_path / "deployment"
    folder.mkdir()
    onnx.save(onnx.parser.parse_model(GRAPH), folder / "model.onnx")
    facts = tmp_path / "installed" / "extensions-1.0.dist-info"
    facts.mkdir(parents=True)
    (facts / "entry_points.txt").write_text(ENTRY_POINTS)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: extensions\nVersion: 1.0\n")
    image = tmp_path / "grey.png"
    cv2.imwrite(str(image), np.full((80, 90, 3), 130, np.uint8))
    places = [ROOT, tmp_path / "installed", *(OWN / name for name in ("backend", "task", "input_kind", "family"))]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(map(str, places))}
    command = [sys.executable, "-W", "error", "-c", BLOCK + CODE, str(folder), str(image)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "brightness 130\n", ""), done.stderr
