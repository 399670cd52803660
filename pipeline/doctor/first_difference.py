"""The first module whose result in the file differs from eager."""

from collections.abc import Mapping
from typing import Any

import onnx
import torch
from torch import Tensor, nn

from pipeline.doctor.difference import difference
from pipeline.doctor.run_graph import run_graph
from rewriters.graph_rewriters.module_ends import module_ends
from zoo.errors import ExportError


def first_difference(model: onnx.ModelProto, module: nn.Module, feed: Mapping[str, Tensor]) -> str:
    """Its name; "" where it is the model itself, or where the modules cannot be distinguished in the graph.

    Modules are compared in the order in which they end, those that run once and give one tensor, but bfloat16, which
    ONNX Runtime cannot return. `model` has module paths on its nodes. A module into which the exporter folded a batch
    norm is compared by the result of that.
    """
    expected, before = _results(module, feed)
    ends = {}
    for name in expected:
        try:
            outputs = module_ends(model, name)[1]
        except ExportError:
            expected.update(dict.fromkeys(before.get(name, ()), expected[name]))
            continue
        if len(outputs) == 1:
            ends[name] = outputs[0]
    wider = onnx.ModelProto()
    wider.CopyFrom(model)
    there = {value.name for value in wider.graph.output}
    wider.graph.output.extend(
        onnx.ValueInfoProto(name=name) for name in dict.fromkeys(ends.values()) if name not in there
    )
    present = {value.name for value in model.graph.input}
    arrays = {name: tensor.numpy() for name, tensor in feed.items() if name in present}
    try:
        tensors = run_graph(wider, arrays, list(ends.values())) if ends else []
    except ExportError:
        return ""
    for name, array in zip(ends, tensors, strict=True):
        if not difference([expected[name]], [array]).good:
            return name
    return ""


def _results(module: nn.Module, feed: Mapping[str, Tensor]) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """Of each submodule that runs once and gives a tensor, in the order in which they end.

    Also the modules whose result each batch norm takes: a convolution, and those around it that end with it.
    """
    results: dict[str, Any] = {}
    makers: list[tuple[Tensor, str]] = []
    before: dict[str, list[str]] = {}
    skipped: set[str] = set()
    hooks = []
    for name, part in module.named_modules():
        if not name:
            continue

        def keep(part: nn.Module, given: Any, result: Any, name: str = name) -> None:
            if name in results or not isinstance(result, Tensor) or result.dtype is torch.bfloat16:  # not in NumPy
                skipped.add(name)
                return
            results[name] = result.clone().numpy()
            if isinstance(part, nn.modules.batchnorm._BatchNorm):  # noqa: SLF001 - torch has no public name for all
                before[name] = [maker for tensor, maker in makers if any(tensor is taken for taken in given[:1])]
            makers.append((result, name))

        hooks.append(part.register_forward_hook(keep))
    try:
        with torch.no_grad():
            module(*(tensor.clone() for tensor in feed.values()))
    finally:
        for hook in hooks:
            hook.remove()
    results = {name: result for name, result in results.items() if name not in skipped}
    known = {norm: [maker for maker in makers if maker in results] for norm, makers in before.items()}
    return results, {norm: makers for norm, makers in known.items() if norm in results}
