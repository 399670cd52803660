"""Small deployments with the contract's tensors, made with onnx alone."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from backends import load
from backends.self_test.stored import SelfTest
from pipeline.parity.gates import GRAPH
from pipeline.self_test.gates import self_test_gates
from zoo.input_kinds.image.small_image import tensor_of, to_png
from zoo.manifest import SELF_TEST_FILE, Manifest, file_record
from zoo.preprocess import Preprocess
from zoo.processor import processor
from zoo.target import AxisRange
from zoo.tasks import build_task
from zoo.tensor_spec import TensorSpec
from zoo.windows import Windows

SLOTS = 6
SIZE = (64, 96)
PREPROCESS = Preprocess(SIZE)
TYPES = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64, "uint8": TensorProto.UINT8}
CLASSES = [{"name": "background", "category_id": None}] + [{"name": f"c{i}", "category_id": i} for i in range(1, 7)]


def detection_nodes() -> tuple[list[onnx.NodeProto], dict[str, np.ndarray]]:
    """The brightness b of an image says all: floor(b * SLOTS) boxes, with scores b, b / 2, b / 3 ..."""
    corners = np.arange(SLOTS, dtype=np.float32)
    boxes = np.stack([corners, corners * 2, corners + 40, corners * 2 + 30], axis=1)
    constants = {
        "pixel_axes": np.array([1, 2, 3]),
        "slot_axis": np.array([1]),
        "box_axis": np.array([2]),
        "count": np.array(SLOTS, np.float32),
        "slots": np.arange(SLOTS)[None],
        "all_boxes": boxes[None],
        "falling": (1 / (corners + 1))[None],
        "all_labels": np.arange(1, SLOTS + 1)[None],
        "no_score": np.array(0, np.float32),
        "no_label": np.array(-1),
    }
    nodes = [
        helper.make_node("ReduceMean", ["images", "pixel_axes"], ["brightness"], keepdims=0),
        helper.make_node("Mul", ["brightness", "count"], ["filled"]),
        helper.make_node("Cast", ["filled"], ["num_dets"], to=TensorProto.INT64),
        helper.make_node("Unsqueeze", ["num_dets", "slot_axis"], ["num_dets_column"]),
        helper.make_node("Less", ["slots", "num_dets_column"], ["used"]),
        helper.make_node("Unsqueeze", ["brightness", "slot_axis"], ["brightness_column"]),
        helper.make_node("Mul", ["falling", "brightness_column"], ["all_scores"]),
        helper.make_node("Where", ["used", "all_scores", "no_score"], ["scores"]),
        helper.make_node("Where", ["used", "all_labels", "no_label"], ["labels"]),
        helper.make_node("Unsqueeze", ["used", "box_axis"], ["used_column"]),
        helper.make_node("Where", ["used_column", "all_boxes", "no_score"], ["boxes"]),
    ]
    return nodes, constants


def segmentation_nodes() -> tuple[list[onnx.NodeProto], dict[str, np.ndarray]]:
    """A pixel's class is its strongest channel: 0 red, 1 green, 2 blue."""
    nodes = [
        helper.make_node("ArgMax", ["images"], ["strongest"], axis=1, keepdims=0),
        helper.make_node("Cast", ["strongest"], ["label_map"], to=TensorProto.UINT8),
    ]
    return nodes, {}


def logits_nodes() -> tuple[list[onnx.NodeProto], dict[str, np.ndarray]]:
    """The image itself."""
    return [helper.make_node("Identity", ["images"], ["logits"])], {}


GRAPHS = {
    ("Detection", "final"): detection_nodes,
    ("SemanticSegmentation", "final"): segmentation_nodes,
    ("SemanticSegmentation", "decoded"): logits_nodes,
}


@dataclass(frozen=True)
class Recipe:
    """What to deploy."""

    task: str = "Detection"
    level: str = "final"
    batch: tuple[int, int, int] | int = (1, 2, 4)
    dynamic_size: bool = False
    preprocess: Preprocess = PREPROCESS
    changes: dict[str, Any] | None = None


def write_deployment(folder: Path, recipe: Recipe) -> Path:
    """A folder that backends.load loads."""
    folder.mkdir(parents=True, exist_ok=True)
    height, width = SIZE
    batch: int | str = "N" if isinstance(recipe.batch, tuple) else recipe.batch
    sides: tuple[int | str, int | str] = ("H", "W") if recipe.dynamic_size else (height, width)
    classes = CLASSES if recipe.task == "Detection" else CLASSES[:3]
    task = build_task({"type": recipe.task, "classes": classes})
    known = {"N": batch, "H": sides[0], "W": sides[1], "K": SLOTS}
    inputs = (TensorSpec("images", "float32", (batch, 3, *sides)),)
    outputs = tuple(
        spec._replace(shape=tuple(known.get(str(side), side) for side in spec.shape))
        for spec in task.outputs(recipe.level)
    )
    nodes, constants = GRAPHS[recipe.task, recipe.level]()
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info(spec.name, TYPES[spec.dtype], spec.shape) for spec in inputs],
        [helper.make_tensor_value_info(spec.name, TYPES[spec.dtype], spec.shape) for spec in outputs],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, folder / "model.onnx")
    axes = {"N": AxisRange(*recipe.batch)} if isinstance(recipe.batch, tuple) else {}
    if recipe.dynamic_size:
        axes |= {"H": AxisRange(32, 64, 256), "W": AxisRange(32, 96, 256)}
    fields: dict[str, Any] = {
        "name": "small",
        "task": task.name,
        "classes": task.classes,
        "preprocess": recipe.preprocess,
        "inputs": inputs,
        "outputs": outputs,
        "axes": axes,
        "output_level": recipe.level,
        "backend": "onnxruntime",
        "precision": {"stored": "fp32", "computed": "fp32"},
        "exporter": "dynamo",
        "opset": 20,
        "versions": {"onnx": onnx.__version__},
        "files": {"model.onnx": file_record(folder / "model.onnx")},
    }
    Manifest(**{**fields, **(recipe.changes or {})}).write(folder)
    return folder


@pytest.fixture
def deploy(tmp_path: Path) -> Callable[..., Path]:
    """deploy(task=..., batch=...) -> the folder of a small deployment."""

    def make(**options: Any) -> Path:
        return write_deployment(tmp_path / "deployment", Recipe(**options))

    return make


@pytest.fixture(scope="session")
def detector(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A detector with batches of 1 to 4. Shared: do not change it."""
    return write_deployment(tmp_path_factory.mktemp("detector"), Recipe())


@pytest.fixture(scope="session")
def segmentor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A segmentor with batches of 1 to 4. Shared: do not change it."""
    return write_deployment(tmp_path_factory.mktemp("segmentor"), Recipe(task="SemanticSegmentation"))


def write_slide(folder: Path) -> Path:
    """A segmentor whose images the host cuts into windows of 32x48; a pixel's class is its strongest channel."""
    write_deployment(folder, Recipe(task="SemanticSegmentation", level="decoded", dynamic_size=True))
    (labels,) = Manifest.read(folder).build_task().outputs("final")
    outputs = (labels._replace(shape=("N", "H", "W")),)
    windows = Windows((32, 48), (20, 32), batch=3)
    return rewrite_manifest(folder, windows=windows, outputs=outputs, output_level="final")


@pytest.fixture(scope="session")
def slide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """See write_slide. Shared: do not change it."""
    return write_slide(tmp_path_factory.mktemp("slide"))


@pytest.fixture
def images() -> list[np.ndarray]:
    """Nine images of several sizes and rising brightness."""
    rng = np.random.default_rng(0)
    return [
        rng.integers(25 * index, 25 * index + 40, (40 + 13 * index, 150 - 9 * index, 3)).astype(np.uint8)
        for index in range(9)
    ]


def add_self_test(folder: Path, precision: str = "fp32", threads: int = 1) -> Path:
    """The deployment with a self-test that it passes here, proved on this machine."""
    with load(folder, threads=threads) as model:
        size = (1, *SIZE)
        image = np.random.default_rng(3).integers(150, 256, (*SIZE, 3)).astype(np.uint8)
        png = to_png(image)
        outputs = model.runner.run({"images": tensor_of(png, 1, SIZE)})
        manifest, roles = model.manifest, model.task.output_roles
    packed = {"png": png, "size": np.array(size)}
    (folder / SELF_TEST_FILE).write_bytes(SelfTest.of(packed, {}, outputs, roles).to_bytes())
    replace(
        manifest,
        precision={"stored": precision, "computed": precision},
        files={**manifest.files, SELF_TEST_FILE: file_record(folder / SELF_TEST_FILE)},
        proved_on={**processor().to_dict(), "versions": {"onnxruntime": onnxruntime.__version__}},
        self_test={
            "image": "bright.png",
            "gates": self_test_gates(GRAPH, precision),
            "thresholds": {"score": 0.05, "slots": SLOTS},
        },
    ).write(folder)
    return folder


def recompute(folder: Path, **constants: np.ndarray) -> Path:
    """The deployment on a machine that computes with other constants: its file and its hash change, not its proof."""
    model = onnx.load(folder / "model.onnx")
    for tensor in model.graph.initializer:
        if tensor.name in constants:
            tensor.CopyFrom(numpy_helper.from_array(constants.pop(tensor.name), tensor.name))
    assert not constants
    onnx.save(model, folder / "model.onnx")
    return rewrite_manifest(folder, files={"model.onnx": file_record(folder / "model.onnx")})


def rewrite_manifest(folder: Path, files: dict[str, Any] | None = None, **changes: Any) -> Path:
    """Other fields in deployment.json, as it would have been written with them; `files` are added to those there."""
    manifest = Manifest.read(folder)
    replace(manifest, files={**manifest.files, **(files or {})}, **changes).write(folder)
    return folder
