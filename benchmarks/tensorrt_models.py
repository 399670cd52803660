"""The models of the TensorRT table, and their files: shipped configs, torchvision's families with random weights."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx
import torch
from matrix import export_referenced
from measured import ROOT, shipped_configs, sources
from numpy.typing import NDArray
from torch import nn
from torchvision_models import ARCHITECTURES, calibrated, sample_images, task_of

from backends.engine_options import EngineOptions
from pipeline.parity.graph_inputs import GraphInput
from pipeline.parity.graph_parity import graph_references
from pipeline.preflight import explain, preflight, steps
from rewriters.export_onnx import tensor_spec
from rewriters.graph_rewriters import rewrite_graph
from tests.rewriters.small_pillars import padded
from zoo.build import build_model
from zoo.config import config_target, load_config
from zoo.datasets.streets.scene import make_scene
from zoo.input_kinds.points.kind import COUNT
from zoo.target import AxisRange, Target
from zoo.tasks import Task

BACKEND = "tensorrt-rtx"
CAPABILITIES = ("8.9",)
SIZE = (256, 320)
BATCHES = {"static": AxisRange.fixed(1), "dynamic batch": AxisRange(1, 2, 4)}
CODE = ("configs", "zoo", "rewriters", "pipeline/preflight", "benchmarks/tensorrt_models.py")


def model_names() -> dict[str, str]:
    """Every row: the name -> a config's path, or "" for a detector of torchvision."""
    segmentors = sorted((ROOT / "configs").glob("*/*_coco-voc.py"))
    own = {Path(path).stem: path for path in shipped_configs()}
    return own | dict.fromkeys(ARCHITECTURES, "") | {path.stem: str(path) for path in segmentors}


def exported(name: str, form: str, level: str) -> tuple[Path, Target]:
    """The file of a model for tensorrt-rtx, in fp32, after the rewriters of the preflight; kept in work_dirs.

    Raises ExportError and InputError as export_onnx does, and where the model has no such level.
    """
    model, task, forward, target = _model(name)
    target = target.with_(backend=BACKEND, exporter="torchscript", batch=BATCHES[form], level=level)
    path = ROOT / f"work_dirs/tensorrt_table/{name}_{form.partition(' ')[0]}_{level}_{sources(*CODE)}.onnx"
    if not path.is_file():
        _export(model, task, forward, target, path)
    return path, target


def _model(name: str) -> tuple[nn.Module, Task, Mapping[str, Any], Target]:
    place = model_names()[name]
    if not place:
        height, width = (AxisRange.fixed(side) for side in SIZE)
        return calibrated(name, SIZE), task_of(name), {}, Target({"height": height, "width": width})
    config = load_config(place)
    torch.manual_seed(0)
    model = build_model(config, weights=not name.endswith("_coco-voc"))
    target = config_target(config)
    if name.endswith("_coco-voc") and target.axes["height"].opt > SIZE[0]:
        target = target.with_(height=AxisRange.fixed(SIZE[0]), width=AxisRange.fixed(SIZE[1]))
    return model, config.task, dict(config.export.forward), target


def _export(model: nn.Module, task: Task, forward: Mapping[str, Any], target: Target, path: Path) -> None:
    inputs = GraphInput((), sample_inputs(target, target.batch.opt))
    references = graph_references(model, task, target.level, forward, [inputs])
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(f".{os.getpid()}")
    export_referenced(model, task, target, forward, references, beside)
    graph = onnx.load(beside)
    graph, _ = rewrite_graph(graph, steps(preflight(graph, target)))
    beside.write_bytes(graph.SerializeToString(deterministic=True))
    beside.replace(path)


def sample_inputs(target: Target, count: int) -> dict[str, NDArray[Any]]:
    """The graph's inputs: so many images of the target's size, or clouds of `streets` with the target's points."""
    if COUNT in target.axes:
        clouds = [torch.from_numpy(make_scene("train", number).points) for number in range(count)]
        return {name: tensor.numpy() for name, tensor in padded(clouds, target.preferred[COUNT]).items()}
    return {"images": sample_images(count, (target.preferred["height"], target.preferred["width"])).numpy()}


def built_engine(model: onnx.ModelProto, target: Target, precision: str = "fp32") -> dict[str, Any]:
    """The seconds of an engine's build and the bytes of its plan. Raises ExportError with the refused node."""
    from backends.tensorrt.build import build_engine
    from backends.tensorrt.refused import EngineRefusedError

    options = EngineOptions(compute_capabilities=CAPABILITIES, timing_cache=False)
    with tempfile.TemporaryDirectory() as folder:
        path, plan = Path(folder) / "model.onnx", Path(folder) / "model.engine"
        path.write_bytes(model.SerializeToString(deterministic=True))
        inputs = [tensor_spec(value) for value in model.graph.input]
        try:
            scales = {spec.name: AxisRange(2, 3, 4) for spec in inputs if spec.name == "scale"}
            built = build_engine(path, plan, BACKEND, options, inputs, target.axes, scales, precision=precision)
        except EngineRefusedError as error:
            raise explain(error, model, target) from error
        return {"build_seconds": built.seconds, "bytes": plan.stat().st_size}
