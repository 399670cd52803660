"""What a graph's latency is compared with on a device: eager PyTorch, torch.compile, torch's plain export."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from sessions import PlainDetector, unpatched_module
from torch import Tensor, nn

from backends.onnxruntime.runner import OnnxRuntimeRunner
from gpu.stage import Place
from pipeline.job.job import plan_job
from zoo.build import build_model
from zoo.config import load_config
from zoo.input_kinds.proof import input_proof

Run = Callable[[], Any]
Tensors = Mapping[str, Tensor]
"""The inputs of a graph by name, in its order."""


def unpatched(config: str, place: Place) -> tuple[nn.Module, Tensors]:
    """The model as its authors wrote it, on the CPU, and the graph's inputs by name for one shipped input."""
    job = plan_job(load_config(config), None, [], place.scratch)
    model = build_model(job.config)
    proof = input_proof(job.task.kind)
    arrays = proof.graph_arrays([job.images[0].value], job.target.preferred, job.preprocess, image_sizes=False)
    module = unpatched_module(job, model)
    if not isinstance(module, PlainDetector):
        arrays = {**arrays, **module.default_arrays()}
    return module, {name: torch.from_numpy(array) for name, array in arrays.items()}


def on_device(tensors: Tensors, device: str) -> dict[str, Tensor]:
    """The tensors there."""
    return {name: tensor.to(device) for name, tensor in tensors.items()}


def eager(module: Callable[..., Any], tensors: Tensors, device: str) -> Run:
    """From tensors on the host to the outputs on the host."""

    def run() -> object:
        with torch.inference_mode():
            outputs = module(*on_device(tensors, device).values())
            return [tensor.cpu() for tensor in (outputs if isinstance(outputs, tuple | list) else [outputs])]

    return run


def resident(module: Callable[..., Any], tensors: Tensors, device: str) -> Run:
    """With the inputs on the device already, and the outputs left there; the work is done when it returns."""
    there = on_device(tensors, device)
    module_of_device = torch.get_device_module(device)

    def run() -> object:
        with torch.inference_mode():
            outputs = module(*there.values())
        module_of_device.synchronize()
        return outputs

    return run


def graph(path: Path, tensors: Tensors, device: str) -> Run:
    """An ONNX file in ONNX Runtime, from numpy to numpy. Its inputs are in the order of the tensors."""
    runner = OnnxRuntimeRunner(path, provider=device)
    names = [spec.name for spec in runner.inputs]  # a plain export names its own
    arrays = {name: tensor.numpy() for name, tensor in zip(names, tensors.values(), strict=False)}
    return lambda: runner.run({**runner.defaults, **arrays})
