"""The whole road: a module that needs symbolic rewriters, through export_onnx, run by ONNX Runtime."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
import torch.nn.functional as F
import torchvision.ops
from torch import Tensor, nn
from torch.onnx._internal.torchscript_exporter.registration import registry

from rewriters import ExportRecord, export_onnx
from rewriters.ops.graph_builder import GraphBuilder
from rewriters.symbolic import declaration, kernels
from rewriters.symbolic.kernels import kernel, reference_evaluator
from tests.exporters import DYNAMO_LATER
from tests.rewriters.small_models import fixed_target
from zoo.errors import ExportError
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec

SIDE, CHANNELS = 6, 4


@pytest.fixture(autouse=True)
def declarations_of_its_own() -> Iterator[None]:
    saved, saved_kernels = list(declaration.SYMBOLIC_REWRITERS), dict(kernels.KERNELS)
    yield
    declaration.SYMBOLIC_REWRITERS[:] = saved
    kernels.KERNELS.clear()
    kernels.KERNELS.update(saved_kernels)


class Many(nn.Module):
    """Deformable convolution, hypot, roll, and a stable sort."""

    def __init__(self) -> None:
        super().__init__()
        self.offset = nn.Conv2d(3, 18, 3, padding=1)
        self.weight = nn.Parameter(torch.randn(CHANNELS, 3, 3, 3, generator=torch.Generator().manual_seed(1)))

    def forward(self, images: Tensor) -> Tensor:
        y: Tensor = torchvision.ops.deform_conv2d(images, self.offset(images), self.weight, padding=1)
        y = torch.hypot(torch.asinh(y), y)
        return torch.sort(torch.roll(y, 2 * SIDE + 1, 3), dim=1, stable=True)[0]


def images() -> Tensor:
    return torch.randn(2, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(0))


def exported(module: nn.Module, exporter: str, path: Path, **options: Any) -> ExportRecord:
    target = fixed_target(SIDE, SIDE, exporter=exporter, batch=AxisRange.fixed(2), opset=options.pop("opset", 20))
    specs = [TensorSpec("y", "float32", (2, CHANNELS, SIDE, SIDE))]
    return export_onnx(module, target, path, example={"images": images()}, output_specs=specs, **options)


def entries() -> dict[str, Any]:
    """torchscript's registry, less what torch itself loads at the first export of a process."""
    groups = {name: group._functions for name, group in registry._registry.items()}
    return {name: dict(functions._overrides) for name, functions in groups.items() if functions._overrides}


def everything() -> tuple[Any, ...]:
    return entries(), vars(torch.autograd.Function)["apply"], list(declaration.SYMBOLIC_REWRITERS)


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_a_model_is_equal_and_all_is_as_before(exporter: str, tmp_path: Path) -> None:
    module, before = Many().eval(), everything()
    required = ["aten::hypot", "aten::roll", "aten::sort.stable"]
    record = exported(module, exporter, tmp_path / "m.onnx", required_rewriters=[*required[1:], {"name": required[0]}])
    assert everything() == before
    own = {"torchvision::deform_conv2d", "aten::asinh"} if exporter == "torchscript" else set()
    assert {fired.name for fired in record.rewriters if "::" in fired.name} == {*required, *own}
    session = ort.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    (got,) = session.run(None, {"images": images().numpy()})
    with torch.no_grad():
        np.testing.assert_allclose(got, module(images()).numpy(), atol=1e-4)


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_all_is_as_before_after_an_error_in_a_translation(exporter: str, tmp_path: Path) -> None:
    class Rolled(nn.Module):
        def forward(self, images: Tensor) -> Tensor:
            return torch.roll(images, 1, 3)

    def fails(b: GraphBuilder, x: str, **_values: Any) -> str:
        raise ExportError("on purpose")

    own = {"reason": "a test", "written_for": "torch 2.15", "exporter": exporter}
    declaration.symbolic("aten::roll", **own)(fails)
    before = everything()
    with pytest.raises(ExportError, match="on purpose"):
        exported(Rolled().eval(), exporter, tmp_path / "m.onnx")
    assert everything() == before
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_all_is_as_before_after_an_error_in_the_model(exporter: str, tmp_path: Path) -> None:
    class Failing(nn.Module):
        def forward(self, images: Tensor) -> Tensor:
            raise RuntimeError(f"on purpose, {torch.roll(images, 1, 3).shape}")

    before = everything()
    with pytest.raises(ExportError, match=f"{exporter} exporter refused the model.*on purpose"):
        exported(Failing().eval(), exporter, tmp_path / "m.onnx")
    assert everything() == before


def branches(x: Tensor) -> Tensor:
    if bool(x.mean() > 1):  # noqa: SIM108  # a statement, as in the models that have one
        y = torch.asinh(x)
    else:
        y = torch.sinh(torch.roll(x, [9], [1]))
    return y


def signs(x: Tensor) -> Tensor:
    if bool(x.mean() > 1):  # noqa: SIM108  # a statement, as in the models that have one
        y = torch.signbit(x)
    else:
        y = torch.signbit(torch.sinc(x))
    return y


@pytest.mark.parametrize(
    "compute",
    [lambda f: f[0], lambda f: lambda x: torch.relu(f[0](x)), lambda f: lambda x: torch.where(f[1](x), x, -x)],
    ids=["alone", "an operator after it", "of another dtype"],
)
@pytest.mark.filterwarnings("ignore:.*torch.jit.script")
def test_in_a_scripted_branch(compute: Any, tmp_path: Path) -> None:
    scripted = compute((torch.jit.script(branches), torch.jit.script(signs)))

    class Module(nn.Module):
        def forward(self, images: Tensor) -> Tensor:
            y: Tensor = scripted(images)
            return torch.cat((y, y[:, :1]), 1)

    module = Module().eval()
    exported(module, "torchscript", tmp_path / "m.onnx")
    session = ort.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    for x in (images(), images() + 3):
        (got,) = session.run(None, {"images": x.numpy()})
        np.testing.assert_allclose(got, module(x).numpy(), atol=1e-5)


def test_an_opset_that_is_too_low_names_those_that_do(tmp_path: Path) -> None:
    class Module(nn.Module):
        def forward(self, images: Tensor) -> Tensor:
            return torch.erfinv(images)

    @declaration.symbolic("aten::erfinv", reason="for this test", written_for="this test", opset=(19, 26))
    def translation(b: GraphBuilder, x: str) -> str:
        result: str = b.Identity(x)
        return result

    expected = "aten::erfinv is translated at opset 19 to 20, got 18; give one of those"
    with pytest.raises(ExportError, match=expected) as caught:
        exported(Module().eval(), "torchscript", tmp_path / "m.onnx", opset=18)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_an_operator_of_a_domain_of_its_own(exporter: str, tmp_path: Path) -> None:
    with torch.library._scoped_library("zooport_test_export", "FRAGMENT") as library:
        library.define("two_a_plus_b(Tensor a, Tensor b) -> Tensor")
        library.impl("two_a_plus_b", lambda a, b: 2 * a + b, "CPU")
        library._register_fake("two_a_plus_b", lambda a, b: torch.empty_like(a))

        @declaration.symbolic(
            "zooport_test_export::two_a_plus_b", reason="no standard operator", written_for="this test"
        )
        def translation(b: GraphBuilder, x: str, y: str) -> str:
            result: str = b.node("TwoAPlusB", x, y, domain="mydomain")
            return result

        class Module(nn.Module):
            def forward(self, images: Tensor) -> Tensor:
                y: Tensor = torch.ops.zooport_test_export.two_a_plus_b(images, F.relu(images))
                return torch.cat((y, y[:, :1]), 1)

        module = Module().eval()
        with pytest.raises(ExportError, match="mydomain::TwoAPlusB has no kernel; none is declared"):
            exported(module, exporter, tmp_path / "m.onnx")
        assert not list(tmp_path.iterdir())
        kernel("mydomain::TwoAPlusB")(lambda a, b: 2 * a + b)
        exported(module, exporter, tmp_path / "m.onnx")
        model = onnx.load(tmp_path / "m.onnx")
        assert ("mydomain", 1) in [(opset.domain, opset.version) for opset in model.opset_import]
        (got,) = reference_evaluator(model).run(None, {"images": images().numpy()})
        np.testing.assert_allclose(got, module(images()).numpy(), atol=1e-6)
