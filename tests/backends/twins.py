"""Deployments that are alike but for what they find, and that say in manifest and graph which one they are."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from backends import Deployment
from backends.engine_options import EngineOptions
from backends.tensorrt.engine_record import EngineRecord
from zoo.manifest import Manifest, file_record
from zoo.preprocess import Preprocess
from zoo.target import AxisRange
from zoo.tasks import ClassInfo
from zoo.tensor_spec import TensorSpec
from zoo.windows import Windows

SIZE = (32, 32)
CLASSES = tuple(ClassInfo(f"class {number}", number) for number in range(3))
KINDS = ("onnxruntime", "windows", "engine")
RTX_VERSION = "1.7.1.116"


def write_twin(folder: Path, number: int, kind: str) -> Path:
    """`kind`: one of KINDS. The graph finds class `number` everywhere, the manifest's name is "twin <number>"."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_graph(folder / "model.onnx", number)
    shape = ("batch", 3, *SIZE)
    fields: dict[str, Any] = {
        "name": f"twin {number}",
        "task": "semantic-segmentation",
        "classes": CLASSES,
        "preprocess": Preprocess(SIZE),
        "inputs": (TensorSpec("images", "float32", shape),),
        "outputs": (TensorSpec("logits", "float32", shape),),
        "axes": {"batch": AxisRange(1, 1, 2)},
        "output_level": "decoded",
        "backend": "onnxruntime",
        "precision": {"stored": "fp32", "computed": "fp32"},
        "exporter": "dynamo",
        "opset": 20,
        "versions": {},
    }
    names = ["model.onnx"]
    if kind == "windows":
        fields |= {
            "windows": Windows(SIZE, SIZE, "constant", 2),
            "outputs": (TensorSpec("label_map", "uint8", ("batch", *SIZE)),),
            "output_level": "final",
        }
    if kind == "engine":
        fields["backend"] = "tensorrt-rtx"
        names += ["model.engine", "model.engine.json"]
        _write_engine(folder, number)
    Manifest(**fields, files={name: file_record(folder / name) for name in names}).write(folder)
    return folder


def _write_graph(path: Path, number: int) -> None:
    offset = np.zeros((1, 3, 1, 1), np.float32)
    offset[0, number] = 1
    shape = ["batch", 3, *SIZE]
    graph = helper.make_graph(
        [
            helper.make_node("Mul", ["images", "zero"], ["none"]),
            helper.make_node("Add", ["none", "offset"], ["logits"]),
        ],
        "twin",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(offset, "offset"), numpy_helper.from_array(np.zeros(1, np.float32), "zero")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)


def _write_engine(folder: Path, number: int) -> None:
    (folder / "model.engine").write_bytes(b"plan %d" % number)
    EngineRecord(
        backend="tensorrt-rtx",
        library_version=RTX_VERSION,
        device=None,
        precision="fp32",
        options=EngineOptions(),
        profiles=(),
        values={},
        layers={},
        onnx_sha256=file_record(folder / "model.onnx")["sha256"],
        plan_sha256=file_record(folder / "model.engine")["sha256"],
        bytes=6,
    ).write(folder / "model.engine.json")


def numbers(model: Deployment) -> tuple[int, int]:
    """Which one the manifest is of, and which one the graph or plan: alike in a deployment that is whole."""
    described = int(model.manifest.name.rpartition(" ")[2])
    plan = getattr(model.runner, "plan", None)
    if plan is not None:
        return described, int(plan.rpartition(b" ")[2])
    (found,) = model.runner.run({"images": np.ones((1, 3, *SIZE), np.float32)}).values()
    best = found[0] if found.ndim == 3 else found[0].argmax(axis=0)
    assert (best == best.flat[0]).all()
    return described, int(best.flat[0])
