"""What a graph's latency is compared with on a device: eager PyTorch, torch.compile, torch's plain export."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from sessions import PlainDetector
from torch import Tensor, nn

from backends.onnxruntime.runner import OnnxRuntimeRunner
from gpu.stage import Place
from pipeline.job.job import plan_job
from zoo.build import build_model
from zoo.config import load_config
from zoo.families import contract_module
from zoo.input_kinds.image.reference_input import reference_input

Run = Callable[[], Any]


def unpatched(config: str, place: Place) -> tuple[nn.Module, Tensor]:
    """The model as its authors wrote it, on the CPU, and the tensor float32 [1, 3, H, W] of a shipped image.

    Of torchvision's detectors the lists of images and results are behind plain tensors (PlainDetector).
    """
    job = plan_job(load_config(config), None, [], place.scratch)
    model = build_model(job.config)
    size = tuple(job.target.preferred.values())
    image = reference_input(job.images[0].value, {**job.preprocess.to_dict(), "size": size}).tensor
    own = [kind.__module__ for kind in type(model).__mro__]
    if any(name.startswith("torchvision.models.detection") for name in own):
        return PlainDetector(model).eval(), image.reshape(1, 3, *size)
    return contract_module(model, job.task, "final", job.forward, rule=job.preprocess), image.reshape(1, 3, *size)


def eager(module: Callable[..., Any], image: Tensor, device: str) -> Run:
    """From a tensor on the host to the outputs on the host."""

    def run() -> object:
        with torch.inference_mode():
            outputs = module(image.to(device))
            return [tensor.cpu() for tensor in (outputs if isinstance(outputs, tuple | list) else [outputs])]

    return run


def resident(module: Callable[..., Any], image: Tensor, device: str) -> Run:
    """With the image on the device already, and the outputs left there; the work is done when it returns."""
    there = image.to(device)
    module_of_device = torch.get_device_module(device)

    def run() -> object:
        with torch.inference_mode():
            outputs = module(there)
        module_of_device.synchronize()
        return outputs

    return run


def graph(path: Path, image: Tensor, device: str) -> Run:
    """An ONNX file in ONNX Runtime, from numpy to numpy."""
    runner = OnnxRuntimeRunner(path, provider=device)
    name = runner.inputs[0].name
    arrays = {name: image.numpy()}
    return lambda: runner.run({**runner.defaults, **arrays})
