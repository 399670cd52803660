"""ONNX Runtime sessions for the benchmark scripts, and the export that a user gets without zooport."""

import os
from collections.abc import Callable
from io import BytesIO
from typing import Any

import onnx
import onnxruntime as ort
import torch
from torch import Tensor, nn
from torchvision.models.detection import MaskRCNN

from pipeline.job.job import Job
from rewriters.graph_passes.drop_unused import drop_unused
from zoo.families import contract_module
from zoo.tasks.contract import Contract
from zoo.tasks.instance_segmentation.proof.head_masks import head_masks


class PlainDetector(nn.Module):
    """torchvision's detector as a plain export takes it: the batch as a list.

    Masks stay in their boxes, as in our graphs: what pastes them to the image is then no part of an exported graph.
    Eager PyTorch pastes them all the same, for torchvision cannot do without.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        """images [N, 3, H, W] -> boxes [n, 4], labels [n], scores [n] and what else there is, image after image."""
        if isinstance(self.model, MaskRCNN):
            with head_masks(self.model) as masks:
                found = self.model(list(images))
            found = [{**detections, "masks": mask} for detections, mask in zip(found, masks, strict=True)]
        else:
            found = self.model(list(images))
        return tuple(tensor for detections in found for tensor in detections.values())


def unpatched_module(job: Job, model: nn.Module) -> PlainDetector | Contract:
    """The model as its authors wrote it, at level final, in eval mode, as a plain export takes it."""
    own = [kind.__module__ for kind in type(model).__mro__]
    if any(name.startswith("torchvision.models.detection") for name in own):
        return PlainDetector(model).eval()
    return contract_module(model, job.task, "final", job.forward, rule=job.preprocess)


def plain_export(module: nn.Module, *inputs: Tensor) -> bytes:
    """torch.onnx.export(dynamo=False) of the unpatched module, the batch static.

    Without nodes that reach no output: torch leaves the loop that pastes masks in the graph, and ONNX Runtime runs it,
    also where pasted masks are not asked for.
    """
    stream = BytesIO()
    with torch.no_grad():
        torch.onnx.export(
            module,
            inputs,
            stream,  # type: ignore[arg-type]  # a stream is documented for this exporter
            dynamo=False,
            opset_version=20,
            input_names=["images"] if len(inputs) == 1 else None,
        )
    model = onnx.load_model_from_string(stream.getvalue())
    drop_unused(model)
    content: bytes = model.SerializeToString()
    return content


def open_session(content: bytes, threads: int | None = None) -> ort.InferenceSession:
    """A session on as many threads, by default as many as this process has CPUs, silent."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads or len(os.sched_getaffinity(0))
    return ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def session_run(session: ort.InferenceSession, feed: dict[str, Any]) -> Callable[[], Any]:
    """A call that runs the session once."""
    return lambda: session.run(None, feed)
