"""Runs of a graph with more outputs, or from tensors in its middle on, in whatever engine there is."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from backends.registry import get_backend
from backends.runner import Runner
from backends.threads import default_threads
from rewriters.onnx_graph.cut import cut
from rewriters.onnx_graph.graph_outputs import run_once
from zoo.target import DEFAULT_BACKEND

Array = NDArray[Any]
Opener = Callable[[Path], Runner]
"""A file -> what runs it; the file is gone when the runner is closed."""


def default_opener(path: Path) -> Runner:
    """The default backend, as a deployment of it runs on the CPU."""
    return get_backend(DEFAULT_BACKEND).open_graph(path)


@contextmanager
def opened(model: onnx.ModelProto, opener: Opener) -> Iterator[Runner]:
    """A runner of the model."""
    with tempfile.TemporaryDirectory(prefix="zooport-align-") as folder:
        path = Path(folder, "model.onnx")
        path.write_bytes(model.SerializeToString())
        with opener(path) as runner:
            yield runner


def graph_tensors(model: onnx.ModelProto, arrays: Mapping[str, Array], names: Sequence[str]) -> dict[str, Array]:
    """What the graph computes, node by node, without what ONNX Runtime makes of several: halves as float32.

    Raises ExportError where ONNX Runtime refuses it.
    """
    halves = {value.name for value in model.graph.input if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT16}
    needed = (value.name for value in model.graph.input if value.name in arrays)
    feed = {name: arrays[name].astype(np.float16) if name in halves else arrays[name] for name in needed}
    tensors = run_once(model.SerializeToString(), feed, names, threads=default_threads())
    return {
        name: array.astype(np.float32) if array.dtype == np.float16 else array
        for name, array in zip(names, map(np.asarray, tensors), strict=True)
    }


@contextmanager
def more_outputs(model: onnx.ModelProto, tensors: Sequence[str]) -> Iterator[onnx.ModelProto]:
    """The same model, which also gives these tensors while the context lasts; no copy of its weights is made."""
    outputs = model.graph.output
    count, there = len(outputs), {value.name for value in outputs}
    outputs.extend(onnx.ValueInfoProto(name=name) for name in tensors if name not in there)
    try:
        yield model
    finally:
        del outputs[count:]


def piece(model: onnx.ModelProto, inputs: Sequence[str] | None, outputs: Sequence[str]) -> onnx.ModelProto:
    """The part of the model between tensors; `inputs` None: the graph's own. Raises ExportError, see cut."""
    part = onnx.ModelProto()
    part.CopyFrom(model)
    cut(part, inputs, outputs)
    return part


def run_with(runner: Runner, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """All outputs in float32 where they are halves; of `arrays` what the graph takes."""
    return runner.run_float32({spec.name: arrays[spec.name] for spec in runner.inputs})
