"""Small models, their graphs, and faults to plant in either."""

import copy
import functools
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import nn

from pipeline.alignment.comparing import Comparison
from pipeline.alignment.records import Alignment
from rewriters.onnx_graph.module_paths import module_path
from rewriters.patching import rewriter as registry
from tests.rewriters.small_families import contract_of, sample_images, small, specs_of
from tests.rewriters.small_models import contract, export, fixed_target, small_segmentor
from zoo.families import contract_module
from zoo.models.restoration import SRCNN
from zoo.tasks import build_task
from zoo.tasks.contract import Contract
from zoo.tensor_spec import TensorSpec

HEIGHT, WIDTH, SCALE = 64, 96, 2
THRESHOLD = 1e-4
Spoil = Callable[[nn.Module], None]


def unseen(_what: str, _done: int, _all: int) -> None:
    """Nobody looks."""


@functools.cache
def model_of(family: str) -> nn.Module:
    if family in ("whole", "slide"):
        return small_segmentor(family, crop_size=(48, 64), stride=(16, 32))  # two rows of two windows
    if family == "srcnn":
        torch.manual_seed(0)
        return SRCNN(SCALE, filters=(8, 4)).eval()
    model: nn.Module = small(family)
    return model


def contract_for(family: str, model: nn.Module) -> Contract:
    if family in ("whole", "slide"):
        return contract(model)
    if family == "srcnn":
        return contract_module(model, build_task({"type": "SuperResolution"}), "final", {})
    return contract_of(model, family)


def specs_for(family: str) -> list[TensorSpec]:
    if family in ("whole", "slide"):
        return [TensorSpec("label_map", "uint8", ("batch", HEIGHT, WIDTH))]
    if family == "srcnn":
        return [TensorSpec("image", "float32", ("batch", 3, HEIGHT * SCALE, WIDTH * SCALE))]
    specs: list[TensorSpec] = specs_of(family)
    return specs


def exported(family: str, exporter: str, spoil: Spoil | None = None) -> onnx.ModelProto:
    """The family's graph; `spoil` changes the copy of the model that is exported."""
    model = copy.deepcopy(model_of(family))
    if spoil is not None:
        spoil(model)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        target = fixed_target(HEIGHT, WIDTH, exporter=exporter, opset=18)
        export(contract_for(family, model), target, path, specs_for(family))
        return onnx.load(path)


@functools.cache
def _sound(family: str, exporter: str) -> onnx.ModelProto:
    return exported(family, exporter)


def sound(family: str, exporter: str) -> onnx.ModelProto:
    """A graph without faults, the caller's own."""
    return copy.deepcopy(_sound(family, exporter))


def compared(family: str, model: onnx.ModelProto, **options: Any) -> Comparison:
    given = {"images": sample_images(1, HEIGHT, WIDTH).numpy()}
    settings = {"threshold": THRESHOLD, "memory": 64 << 20, **options}
    comparison = Comparison(contract_for(family, model_of(family)), model, given, {}, **settings)
    comparison.compare(unseen)
    return comparison


def aligned(family: str, model: onnx.ModelProto, **options: Any) -> Alignment:
    found = compared(family, model, **options)
    return Alignment(tuple(found.pairs), found.threshold, ("noise",), absent=found.absent, changed=found.changed)


def nodes_of(model: onnx.ModelProto, module: str, op_type: str) -> list[onnx.NodeProto]:
    nodes = [node for node in model.graph.node if module_path(node) == module and node.op_type == op_type]
    assert nodes, f"{module} has no {op_type}"
    return nodes


def perturb(model: onnx.ModelProto, module: str, op_type: str = "Conv", part: float = 0.01) -> None:
    """The stored weights of a layer, by a part of each; torchscript has a copy for each place that calls the layer."""
    names = {node.input[1] for node in nodes_of(model, module, op_type)}
    found = [tensor for tensor in model.graph.initializer if tensor.name in names]
    assert found, f"{module} has no stored weights"
    for tensor in found:
        array = numpy_helper.to_array(tensor)
        noise = np.random.default_rng(0).standard_normal(array.shape)
        tensor.CopyFrom(numpy_helper.from_array((array * (1 + part * noise)).astype(array.dtype), tensor.name))


def set_attribute(model: onnx.ModelProto, module: str, op_type: str, **values: Any) -> None:
    for node in nodes_of(model, module, op_type):
        kept = [attribute for attribute in node.attribute if attribute.name not in values]
        del node.attribute[:]
        node.attribute.extend([*kept, *(onnx.helper.make_attribute(name, value) for name, value in values.items())])


def set_constant(model: onnx.ModelProto, name: str, value: float) -> None:
    """A constant of the graph, wherever it is."""
    for tensor in model.graph.initializer:
        if tensor.name == name:
            array = np.full_like(numpy_helper.to_array(tensor), value)
            tensor.CopyFrom(numpy_helper.from_array(array, name))
            return
    (maker,) = (node for node in model.graph.node if name in node.output)
    array = np.full_like(numpy_helper.to_array(maker.attribute[0].t), value)
    maker.attribute[0].t.CopyFrom(numpy_helper.from_array(array))


def set_eps(module: str, eps: float = 1e-2) -> Spoil:
    def spoil(model: nn.Module) -> None:
        norm = model.get_submodule(module)
        assert isinstance(norm, nn.BatchNorm2d)
        norm.eps = eps

    return spoil


@contextmanager
def wrong_rewriter(target: Any, attribute: str, replacement: Callable[..., Any]) -> Iterator[None]:
    """One more function rewriter, which is wrong."""
    registry.rewrites(target, attribute, reason="planted", written_for="this test")(replacement)
    planted = registry.REWRITERS[-1]
    try:
        yield
    finally:
        registry.REWRITERS.remove(planted)


def rows_swapped(model: onnx.ModelProto, tensor: str) -> None:
    """[1, P, 4]: the first two rows change places, as near-equal scores let them."""
    (place,) = (place for place, node in enumerate(model.graph.node) if tensor in node.output)
    maker = model.graph.node[place]
    maker.output[list(maker.output).index(tensor)] = f"{tensor}/before"
    slots = 40
    order = np.array([1, 0, *range(2, slots)])
    model.graph.initializer.append(numpy_helper.from_array(order, "planted_order"))
    gather = onnx.helper.make_node("Gather", [f"{tensor}/before", "planted_order"], [tensor], "planted", axis=1)
    gather.metadata_props.extend(maker.metadata_props)
    model.graph.node.insert(place + 1, gather)


def tensor_of(alignment: Alignment, module: str) -> str:
    """Of a module's last pair."""
    return [pair.tensor for pair in alignment.pairs if pair.modules == (module,)][-1]
