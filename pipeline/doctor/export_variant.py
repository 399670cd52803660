"""A way of export: an exporter, with or without our rewriters, and the graph that it writes."""

from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import onnx
import torch
from torch import nn

from pipeline.doctor.examined_model import ExaminedModel
from rewriters.exporters import by_dynamo, by_torchscript
from rewriters.family_rewriters import import_rewriters
from rewriters.graph_passes.expand_operators import expand_operators, translated
from rewriters.graph_passes.strip_traces import strip_traces
from rewriters.onnx_graph.module_paths import module_paths, traced_names
from rewriters.ops.operator import Operator
from rewriters.patching.rewriting import rewriting
from rewriters.symbolic import operators_for
from zoo.target import DYNAMO_MIN_OPSET, Target


@dataclass(frozen=True)
class ExportVariant:
    """How a model is exported."""

    exporter: str
    rewriters: bool
    opset: int

    def __str__(self) -> str:
        return f"{self.exporter}{', with rewriters' if self.rewriters else ''}"


def target_of(way: ExportVariant, target: Target) -> Target:
    """A target as a way of export has it; dynamo writes no lower opset than its own."""
    opset = max(way.opset, DYNAMO_MIN_OPSET) if way.exporter == "dynamo" else way.opset
    return target.with_(exporter=way.exporter, opset=opset)


def export(module: nn.Module, subject: ExaminedModel, way: ExportVariant) -> tuple[onnx.ModelProto, Mapping[str, int]]:
    """The graph, its nodes marked with their modules, and how often each rewriter acted. What torch raises is raised.

    `module`: a copy of the subject's, for the exporters change it.
    """
    target = target_of(way, subject.target)
    import_rewriters(module)
    write = _torchscript if way.exporter == "torchscript" else _dynamo
    with ExitStack() as stack:
        session = stack.enter_context(rewriting(target, options=subject.options)) if way.rewriters else None
        model = write(module, subject, way, operators_for(target) if way.rewriters else None)
        fired = Counter() if session is None else session.hits + translated(model, target)
    module_paths(model, traced_names(subject.module))
    if way.rewriters:
        strip_traces(model)
        expand_operators(model, target)
    return model, fired


def _torchscript(
    module: nn.Module, subject: ExaminedModel, way: ExportVariant, operators: Mapping[str, Operator] | None
) -> onnx.ModelProto:
    feed = subject.trials[0].feed
    axes = {name: dict(subject.axes.get(name, {})) for name in feed}
    return by_torchscript(module, feed, opset=way.opset, axes=axes, operators=operators)


def _dynamo(
    module: nn.Module, subject: ExaminedModel, way: ExportVariant, operators: Mapping[str, Operator] | None
) -> onnx.ModelProto:
    feed = subject.trials[0].feed
    dims: dict[str, Any] = {}
    for name in (name for axes in subject.axes.values() for name in axes.values()):
        dims.setdefault(name, torch.export.Dim(name))
    shapes = tuple({place: dims[axis] for place, axis in subject.axes.get(name, {}).items()} for name in feed)
    return by_dynamo(module, feed, opset=way.opset, shapes=shapes if dims else None, operators=operators)
