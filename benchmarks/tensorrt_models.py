"""The models of the TensorRT table, and their files: shipped configs, torchvision's families with random weights."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx
import torch
from measured import ROOT, shipped_configs, sources
from torch import nn
from torchvision_models import ARCHITECTURES, calibrated, sample_images, task_of

from pipeline.export.output_specs import output_specs
from pipeline.parity.graph_inputs import GraphInput
from pipeline.parity.graph_parity import graph_references
from pipeline.preflight import preflight, steps
from rewriters import export_onnx
from rewriters.graph_rewriters import rewrite_graph
from zoo.build import build_model
from zoo.config import config_target, load_config
from zoo.families import contract_module
from zoo.target import AxisRange, Target
from zoo.tasks import Task

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
    target = target.with_(backend="tensorrt-rtx", exporter="torchscript", batch=BATCHES[form], level=level)
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
    if target.axes["height"].opt > SIZE[0] and name.endswith("_coco-voc"):
        target = target.with_(height=AxisRange.fixed(SIZE[0]), width=AxisRange.fixed(SIZE[1]))
    return model, config.task, dict(config.export.forward), target


def _export(model: nn.Module, task: Task, forward: Mapping[str, Any], target: Target, path: Path) -> None:
    size = (target.preferred["height"], target.preferred["width"])
    images = sample_images(target.batch.opt, size)
    references = graph_references(model, task, target.level, forward, [GraphInput((), {"images": images.numpy()})])
    contract = contract_module(model, task, target.level, forward)
    specs = output_specs(contract.outputs(task, target.level), target, references)
    example = {"images": images} | {key: torch.tensor([value]) for key, value in contract.defaults.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(f".{os.getpid()}")
    export_onnx(contract, target, beside, example=example, output_specs=specs)
    graph = onnx.load(beside)
    graph, _ = rewrite_graph(graph, steps(preflight(graph, target)))
    beside.write_bytes(graph.SerializeToString(deterministic=True))
    beside.replace(path)
