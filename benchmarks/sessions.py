"""ONNX Runtime sessions for the benchmark scripts, and the export that a user gets without zooport."""

import os
from collections.abc import Callable
from io import BytesIO
from typing import Any

import onnxruntime as ort
import torch
from torch import Tensor, nn


def plain_export(module: nn.Module, image: Tensor) -> bytes:
    """torch.onnx.export(dynamo=False) of the unpatched module, the batch static."""
    stream = BytesIO()
    with torch.no_grad():
        torch.onnx.export(
            module,
            (image,),
            stream,  # type: ignore[arg-type]  # a stream is documented for this exporter
            dynamo=False,
            opset_version=20,
            input_names=["images"],
        )
    return stream.getvalue()


def open_session(content: bytes, threads: int | None = None) -> ort.InferenceSession:
    """A session on as many threads, by default as many as this process has CPUs, silent."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads or len(os.sched_getaffinity(0))
    return ort.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def session_run(session: ort.InferenceSession, feed: dict[str, Any]) -> Callable[[], Any]:
    """A call that runs the session once."""
    return lambda: session.run(None, feed)
