"""A repository of small models, and its models in the stand-in for Triton's stub."""

import json
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import onnx
import pytest

from tests.backends.conftest import SIZE, SLOTS, Recipe, rewrite_manifest, write_deployment, write_slide
from tests.backends.serving.stub import module
from zoo.manifest import Manifest, file_record
from zoo.tensor_spec import TensorSpec
from zooport.verbs import run_verb

ADJUSTABLE = "adjustable"
OUTPUTS = {
    "detector": ["boxes", "scores", "labels"],
    "segmentor": ["label_map"],
    "slide": ["label_map"],
    ADJUSTABLE: ["boxes", "scores", "labels"],
    "tensors": ["score", "embedding"],
    "masks": ["boxes", "scores", "labels", "masks"],
}
BATCH = 4  # the largest of each graph
ALONE = ("tensors",)  # whose requests are not joined, since an output is one number
ENSEMBLES = ("detector", "segmentor", ADJUSTABLE, "tensors")


@pytest.fixture(scope="session")
def deployments(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("deployments")
    return {
        "detector": write_deployment(root / "detector", Recipe()),
        "segmentor": write_deployment(root / "segmentor", Recipe(task="SemanticSegmentation")),
        "slide": write_slide(root / "slide"),
        ADJUSTABLE: write_adjustable(root / ADJUSTABLE),
        "tensors": write_tensors(root / "tensors", score="brightness", embedding="all_scores"),
        "masks": write_masks(root / "masks"),
    }


def write_tensors(folder: Path, **outputs: str) -> Path:
    """A module that gives tensors of the detector's graph by other names: output -> tensor."""
    write_deployment(folder, Recipe())
    model = onnx.load(folder / "model.onnx")
    shapes: dict[str, tuple[int | str, ...]] = {"brightness": ("N",), "all_scores": ("N", SLOTS)}
    specs = tuple(TensorSpec(name, "float32", shapes[tensor]) for name, tensor in outputs.items())
    model.graph.node.extend(onnx.helper.make_node("Identity", [tensor], [name]) for name, tensor in outputs.items())
    del model.graph.output[:]
    model.graph.output.extend(
        onnx.helper.make_tensor_value_info(spec.name, onnx.TensorProto.FLOAT, spec.shape) for spec in specs
    )
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, folder / "model.onnx")
    files = {"model.onnx": file_record(folder / "model.onnx")}
    return rewrite_manifest(folder, task="tensors", classes=(), outputs=specs, files=files)


def write_masks(folder: Path) -> Path:
    """The detector's objects, each with the bright pixels of the tensor, padding included, as its mask."""
    write_deployment(folder, Recipe())
    model = onnx.load(folder / "model.onnx")
    node = onnx.helper.make_node
    model.graph.node.extend(
        [
            node("Constant", [], ["half"], value_float=0.4),
            node("Constant", [], ["cell_axes"], value_ints=[2, 3]),
            node("Constant", [], ["channel"], value_ints=[1]),
            node("ReduceMean", ["images", "channel"], ["grey"]),
            node("Greater", ["grey", "half"], ["bright"]),
            node("Unsqueeze", ["used", "cell_axes"], ["used_cells"]),
            node("And", ["bright", "used_cells"], ["inside"]),
            node("Cast", ["inside"], ["masks"], to=onnx.TensorProto.UINT8),
        ]
    )
    height, width = SIZE
    specs = (
        *(spec for spec in Manifest.read(folder).outputs if spec.name != "boxes"),
        TensorSpec("masks", "uint8", ("N", SLOTS, height, width)),
    )
    kept = [value for value in model.graph.output if value.name != "boxes"]
    del model.graph.output[:]
    masks = onnx.helper.make_tensor_value_info("masks", onnx.TensorProto.UINT8, ("N", SLOTS, height, width))
    model.graph.output.extend([*kept, masks])
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, folder / "model.onnx")
    files = {"model.onnx": file_record(folder / "model.onnx")}
    return rewrite_manifest(folder, task="instance-masks", outputs=specs, files=files)


def write_adjustable(folder: Path) -> Path:
    """A detector with an input that may be left out: what the brightness is multiplied by."""
    write_deployment(folder, Recipe())
    model = onnx.load(folder / "model.onnx")
    mean = next(node for node in model.graph.node if node.output == ["brightness"])
    mean.output[:] = ["mean"]
    place = list(model.graph.node).index(mean) + 1
    model.graph.node.insert(place, onnx.helper.make_node("Mul", ["mean", "score_threshold"], ["brightness"]))
    model.graph.input.append(onnx.helper.make_tensor_value_info("score_threshold", onnx.TensorProto.FLOAT, [1]))
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, folder / "model.onnx")
    images = Manifest.read(folder).inputs
    inputs = (*images, TensorSpec("score_threshold", "float32", (1,)))
    files = {"model.onnx": file_record(folder / "model.onnx")}
    return rewrite_manifest(folder, inputs=inputs, defaults={"score_threshold": 1.0}, files=files)


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Images of several sizes and brightnesses."""
    folder, random = tmp_path_factory.mktemp("files"), np.random.default_rng(0)
    paths = [folder / f"{number}.png" for number in range(6)]
    for number, path in enumerate(paths):
        shape = (64 + number, 96 - number, 3)
        cv2.imwrite(str(path), random.integers(40 * number, 40 * number + 40, shape).astype(np.uint8))
    return paths


@pytest.fixture(scope="session")
def repository(deployments: dict[str, Path], files: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    models = tmp_path_factory.mktemp("repository") / "models"
    for name in OUTPUTS:
        flags = ["--image", str(files[-1]), "--out", str(models), "--name", name, "--instances", "2", "--queue", "8"]
        flags += [] if name in ALONE else ["--batch", str(BATCH)]
        assert run_verb(["triton", str(deployments[name]), *flags]) == 0
    return models


@pytest.fixture(scope="session")
def ensembles(deployments: dict[str, Path], files: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    models = tmp_path_factory.mktemp("ensembles") / "models"
    for name in ENSEMBLES:
        flags = ["--image", str(files[-1]), "--out", str(models), "--name", name, "--instances", "1", "--ensemble"]
        flags += [] if name == ADJUSTABLE else ["--batch", str(BATCH)]
        assert run_verb(["triton", str(deployments[name]), *flags]) == 0
    return models


def arguments_of(place: Path, kind: str = "CPU", device: int = 0) -> dict[str, str]:
    """What Triton initialises a Python model with, beside its config."""
    instance = {"model_instance_kind": kind, "model_instance_device_id": str(device)}
    return {"model_repository": str(place), "model_version": "1", **instance}


@pytest.fixture(params=OUTPUTS)
def served(request: pytest.FixtureRequest, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The model of the generated model.py, initialised as Triton does it, and its name."""
    monkeypatch.setitem(sys.modules, "triton_python_backend_utils", module())
    place = repository / request.param
    model = runpy.run_path(str(place / "1" / "model.py"))["TritonPythonModel"]()
    config = {"parameters": {"threads": {"string_value": "1"}}}
    model.initialize({"model_config": json.dumps(config), **arguments_of(place)})
    yield request.param, model
    model.finalize()
