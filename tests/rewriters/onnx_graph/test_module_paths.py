"""Module paths: the same from both exporters, and names of the zoo's model."""

from pathlib import Path
from typing import Any

import onnx
import pytest
import torch
from torch import Tensor, nn

from rewriters import export_onnx
from rewriters.onnx_graph.module_paths import MODULE, module_path, traced_names
from tests.exporters import DYNAMO_LATER
from tests.rewriters.small_models import contract, detection_specs, export, fixed_target, run, small_faster_rcnn
from zoo import build_model
from zoo.config import load_config
from zoo.families import contract_module
from zoo.tasks.contract import Contract
from zoo.tensor_spec import TensorSpec

ROOT = Path(__file__).parents[3]


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Conv2d(3, 3, 1, bias=False), nn.Sequential(nn.Tanh(), nn.Sigmoid())])
        self.norm = nn.BatchNorm2d(3)
        self.act = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        x = self.act(self.norm(self.layers[0](x)))
        return torch.exp(self.act(self.layers[1](x) - 0.5))


class Model(nn.Module):
    """`shared` has two names, `parts.block` is called past its parent, and the model computes something itself."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleDict({"block": Block()})
        self.shared = nn.Softplus()
        self.also = self.shared

    def forward(self, images: Tensor) -> Tensor:
        found: Tensor = self.also(self.parts["block"](images))
        return torch.abs(found)


class Wrapper(Contract):
    """What is around a model when it is exported."""

    def forward(self, images: Tensor) -> Tensor:
        return torch.floor(self.model(images))


def paths_of_ops(module: nn.Module, exporter: str, path: Path) -> dict[str, list[str | None]]:
    specs = [TensorSpec("out", "float32", ("batch", 3, 64, 96))]
    export(module.eval(), fixed_target(64, 96, exporter=exporter), path, specs)
    found: dict[str, list[str | None]] = {}
    for node in onnx.load(path).graph.node:
        found.setdefault(node.op_type, []).append(module_path(node))
    return found


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
@pytest.mark.parametrize("wrapped", [True, False])
def test_the_innermost_module_whose_forward_made_the_node(wrapped: bool, exporter: str, tmp_path: Path) -> None:
    model = Model().eval()
    found = paths_of_ops(Wrapper(model, {}) if wrapped else model, exporter, tmp_path / "m.onnx")
    expected: dict[str, list[str | None]] = {
        "Conv": ["parts.block.layers.0"],  # its batch norm is inside
        "Relu": ["parts.block.act", "parts.block.act"],
        "Tanh": ["parts.block.layers.1.0"],
        "Sigmoid": ["parts.block.layers.1.1"],
        "Sub": ["parts.block"],
        "Exp": ["parts.block"],
        "Softplus": ["shared"],
        "Abs": [""],
    }
    if wrapped:
        expected["Floor"] = [None]
    assert {name: paths for name, paths in found.items() if name in expected or name == "Floor"} == expected


class Twice(nn.Module):
    """torchscript's names for the second call of `act`, and for the one call of `act_1`, are the same."""

    def __init__(self) -> None:
        super().__init__()
        self.act = nn.ReLU()
        self.act_1 = nn.Tanh()

    def forward(self, images: Tensor) -> Tensor:
        return self.act_1(self.act(images))  # type: ignore[no-any-return]


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_a_name_that_ends_like_a_number_of_a_call(exporter: str, tmp_path: Path) -> None:
    found = paths_of_ops(Twice(), exporter, tmp_path / "m.onnx")
    assert found == {"Relu": ["act"], "Tanh": ["act_1"]}


def test_a_shared_module_has_its_first_name() -> None:
    names = traced_names(Wrapper(Model(), {}))
    assert names["model.also"] == names["model.shared"] == "shared"
    assert names["model"] == ""
    assert "" not in names  # the wrapper's own


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_the_exporters_own_keys_are_gone(exporter: str, tmp_path: Path) -> None:
    export(
        contract(small_faster_rcnn()), fixed_target(64, 96, exporter=exporter), tmp_path / "m.onnx", detection_specs(20)
    )
    graph = onnx.load(tmp_path / "m.onnx").graph
    assert {entry.key for node in graph.node for entry in node.metadata_props} == {MODULE}
    nms = [node for node in graph.node if node.op_type == "NonMaxSuppression"]
    assert {module_path(node) for node in nms} == {"rpn", "roi_heads"}  # of operators of ours


def shipped(exporter: str, path: Path) -> tuple[Any, list[onnx.NodeProto]]:
    config = load_config(ROOT / "configs/detection/faster-rcnn_r18-fpn_digits.py")
    model: Any = build_model(config)
    module = contract_module(model, config.task, "final", {})
    images = torch.rand(2, 3, 256, 320, generator=torch.Generator().manual_seed(0))
    target = fixed_target(256, 320, exporter=exporter)
    specs = detection_specs(model.roi_heads.detections_per_img)
    export_onnx(module, target, path, example={"images": images}, output_specs=specs)
    assert run(path, images)
    return model, list(onnx.load(path).graph.node)


@pytest.mark.slow
def test_a_shipped_detector_has_the_same_paths_from_both_exporters(tmp_path: Path) -> None:
    found = {}
    for exporter in ("torchscript", "dynamo"):
        model, nodes = shipped(exporter, tmp_path / "m.onnx")
        modules = dict(model.named_modules())
        paths = [module_path(node) for node in nodes if node.op_type != "Constant"]
        assert all(path in modules for path in paths if path is not None)
        assert sum(path is None for path in paths) < 20  # of the contract, and of the graph's own inputs and weights
        found[exporter] = {
            (node.op_type, module_path(node)) for node in nodes if node.op_type in ("Conv", "Relu", "Gemm")
        }
    assert found["dynamo"] == found["torchscript"]
    assert ("Conv", "backbone.body.conv1") in found["dynamo"]
    assert ("Conv", "rpn.head.conv.0.0") in found["dynamo"]
    assert ("Gemm", "roi_heads.box_head.fc6") in found["dynamo"]
