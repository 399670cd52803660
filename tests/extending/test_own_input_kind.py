"""A task that takes no image: its kind says how inputs are checked, batched and fed, and `load` asks nothing else."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import onnx
import onnx.parser
import pytest
import torch
from torch import Tensor, nn

from backends import Deployment, load
from pipeline.job.target_flags import parse_dynamic
from rewriters.export_onnx import export_onnx
from tests.exporters import DYNAMO_LATER
from zoo.config.export_section import export_faults
from zoo.errors import InputError
from zoo.input_kinds import InputKind, input_kind, register_input_kind, registry
from zoo.input_kinds.image import ImageKind
from zoo.manifest import Manifest, file_record
from zoo.target import AxisRange, Target
from zoo.tasks import Result, Task, register_task
from zoo.tasks import registry as task_registry
from zoo.tensor_spec import TensorSpec

SIGNALS = TensorSpec("signals", "float32", ("batch", "count"))
LENGTHS = TensorSpec("lengths", "int64", ("batch",))
MEAN = TensorSpec("mean", "float32", ("batch",))
GRAPH = """
<ir_version: 10, opset_import: ["" : 20]>
mean_of_signals (float[batch, count] signals, int64[batch] lengths) => (float[batch] mean) {
    axis = Constant <value_ints = [1]> ()
    total = ReduceSum <keepdims = 0> (signals, axis)
    number = Cast <to = 1> (lengths)
    mean = Div (total, number)
}
"""


@dataclass(frozen=True)
class Units:
    """Its rule."""

    scale: float

    def to_dict(self) -> dict[str, Any]:
        return {"scale": self.scale}


class SignalKind(InputKind):
    """Signals float32 [n], of any length. They are scaled, and zeros fill a batch up to its longest."""

    name = "signal"
    noun = "signal"
    inputs = (SIGNALS, LENGTHS)
    preprocess_schema: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {"scale": {"type": "number"}},
        "required": ["scale"],
        "additionalProperties": False,
    }

    def specs(self, *, image_sizes: bool = False) -> tuple[TensorSpec, ...]:
        return self.inputs

    def sides(self, rule: Units) -> Mapping[str, AxisRange]:
        return {"count": AxisRange.fixed(4)}

    def rule(self, fields: Mapping[str, Any]) -> Units:
        return Units(**fields)

    def read(self, path: str | Path) -> Any:
        return np.load(path)

    def check(self, value: object, what: str) -> None:
        if not isinstance(value, np.ndarray) or value.ndim != 1 or value.dtype != np.float32:
            raise InputError(f"{what}: expected float32 [n]")

    def alike(self, rule: Units, value: Any, names: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        return ()

    def slot_shape(self, rule: Units, values: Sequence[Any]) -> tuple[int, ...]:
        return (max(len(value) for value in values),)

    def fill(self, rule: Units, value: Any, slot: Any) -> int:
        slot[: len(value)] = value * rule.scale
        slot[len(value) :] = 0
        return len(value)

    def companions(self, geometries: Sequence[int]) -> Mapping[str, Any]:
        return {"lengths": np.array(geometries, np.int64)}


@dataclass(frozen=True, eq=False)
class MeanResult(Result):
    mean: Any


class Mean(Task):
    name = "mean"
    input_kind = "signal"
    result_type = MeanResult
    proof_class = "none:None"
    suffixes = (".json",)
    has_classes = False

    def __init__(self, classes: Sequence[Any] = ()) -> None:
        super().__init__(classes)

    def amount(self, result: Any) -> int:
        return 1

    def caption(self, result: Any) -> str:
        return f"mean {float(result.mean):.1f}"

    def files(self, signal: Any, result: Any) -> Iterator[tuple[str, bytes]]:
        yield ".json", json.dumps({"mean": float(result.mean), "values": len(signal)}).encode()

    def _outputs(self, level: str) -> tuple[TensorSpec, ...]:
        return (MEAN,) if level == "final" else ()

    def _results(self, outputs: Mapping[str, Any], geometries: Sequence[Any]) -> list[Result]:
        return [MeanResult(value) for value, _ in zip(outputs["mean"], geometries, strict=False)]

    def _draw(self, signal: Any, result: Any) -> Any:
        return np.full((len(signal), 10, 3), int(result.mean), np.uint8)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    input_kind("image")
    monkeypatch.setattr(registry, "_KINDS", dict(registry._KINDS))
    monkeypatch.setattr(task_registry, "_TASKS", dict(task_registry._TASKS))
    register_input_kind(SignalKind)
    register_task(Mean)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "mean"
    path.mkdir()
    onnx.save(onnx.parser.parse_model(GRAPH), path / "model.onnx")
    Manifest(
        name="mean_of_signals",
        task="mean",
        classes=(),
        preprocess=Units(2.0),
        inputs=(SIGNALS, LENGTHS),
        outputs=(MEAN,),
        axes={"batch": AxisRange(2, 2, 3), "count": AxisRange(1, 4, 8)},
        output_level="final",
        backend="onnxruntime",
        precision={"stored": "fp32", "computed": "fp32"},
        exporter="dynamo",
        opset=20,
        versions={},
        files={"model.onnx": file_record(path / "model.onnx")},
    ).write(path)
    return path


@pytest.fixture
def model(folder: Path) -> Iterator[Deployment]:
    with load(folder) as deployment:
        yield deployment


def signal(*values: float) -> Any:
    return np.array(values, np.float32)


def test_one_several_and_a_stack_run_in_the_graphs_batches(model: Deployment) -> None:
    assert model(signal(1, 2, 3)).mean == 4
    longer = [signal(*range(number, 2 * number + 1)) for number in range(1, 8)]  # 7 signals of 2 to 8 values
    assert [round(float(result.mean), 4) for result in model(longer)] == [3.0 * number for number in range(1, 8)]
    assert [float(result.mean) for result in model(np.stack([signal(1, 3), signal(5, 7)]))] == [4, 12]


def test_its_own_check_and_the_graphs_bounds_name_the_input(model: Deployment) -> None:
    with pytest.raises(InputError, match=r"^signal 1: expected float32 \[n\]$"):
        model([signal(1), np.zeros(3)])
    with pytest.raises(InputError, match="axis count must be 1 to 8"):
        model(signal(*range(9)))


def test_the_tensor_and_what_goes_with_it(model: Deployment) -> None:
    tensor, geometries = model.preprocess([signal(1, 2), signal(3)])
    assert tensor.tolist() == [[2, 4], [6, 0]]
    assert model.task.kind.companions(geometries)["lengths"].tolist() == [2, 1]
    with pytest.raises(InputError, match="^no signals; give one or more$"):
        model.preprocess([])


def test_the_manifest_has_the_kinds_own_preprocessing(folder: Path) -> None:
    assert Manifest.read(folder).preprocess == Units(2.0)
    fields = Manifest.read(folder).to_dict()
    with pytest.raises(InputError, match='unknown key "preprocess.resize"'):
        Manifest.from_dict({**fields, "preprocess": {"scale": 1.0, "resize": "keep"}})
    with pytest.raises(InputError, match="inputs: signals has 1 axes, expected 2"):
        Manifest.from_dict({**fields, "inputs": [SIGNALS._asdict() | {"shape": ["batch"]}, *fields["inputs"][1:]]})


def test_a_result_is_drawn_and_saved_with_its_input(model: Deployment, tmp_path: Path) -> None:
    np.save(tmp_path / "one.npy", signal(1, 2, 3))
    value = model.task.kind.read(tmp_path / "one.npy")
    result = model(value)
    assert model.task.draw(value, result).shape == (3, 10, 3)
    assert list(model.task.files(value, result)) == [(".json", b'{"mean": 4.0, "values": 3}')]


class MeanModel(nn.Module):
    """signals float32 [N, 4], lengths int64 [N] -> mean float32 [N]."""

    def forward(self, signals: Tensor, lengths: Tensor) -> Tensor:
        return signals.sum(dim=1) / lengths


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_its_axes_are_those_of_the_exported_graph(exporter: str, folder: Path) -> None:
    target = Target({"batch": AxisRange(2, 2, 3), "count": AxisRange.fixed(4)}, exporter=exporter)
    example = {"signals": torch.rand(2, 4), "lengths": torch.tensor([4, 3])}
    path = folder / "model.onnx"
    record = export_onnx(MeanModel().eval(), target, path, example=example, output_specs=[MEAN])
    assert record.inputs == (SIGNALS._replace(shape=("batch", 4)), LENGTHS)
    files = {path.name: file_record(path)}
    replace(Manifest.read(folder), inputs=record.inputs, axes={"batch": target.batch}, files=files).write(folder)
    with load(folder) as exported:
        assert [float(one.mean) for one in exported([signal(1, 2, 3, 4), signal(2, 4, 6, 8), signal(0, 0, 0, 1)])] == [
            5,
            10,
            0.5,
        ]


def test_two_kinds_of_one_name_are_an_error() -> None:
    with pytest.raises(InputError, match=r"zoo\.input_kinds\.image\.kind\.ImageKind has the same name; rename"):
        register_input_kind(type("Other", (ImageKind,), {}))
    with pytest.raises(InputError, match='unknown input kind "imag"; nearest: "image", "signal"'):
        input_kind("imag")


INSTALLED = """
from zoo.input_kinds import register_input_kind
from zoo.input_kinds.image import ImageKind

@register_input_kind
class Depth(ImageKind):
    name = "depth"
"""


def test_an_installed_kind_is_found_by_its_entry_point(install: Callable[..., None]) -> None:
    install(registry.ENTRY_POINTS, "depth", "depth_images", INSTALLED)
    assert type(input_kind("depth")).__name__ == "Depth"


def test_an_entry_point_that_cannot_be_imported_is_named(
    install: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    install("zooport.input_kinds", "depth", "no_such_module")
    with pytest.raises(InputError, match='unknown input kind "dept"; nearest: "'):
        input_kind("dept")
    words = "entry point depth of outside (zooport.input_kinds): no_such_module cannot be imported"
    assert words in caplog.text
    with pytest.raises(InputError, match=re.escape(words)):
        input_kind("depth")


def test_its_axes_are_those_of_targets_configs_and_the_command_line() -> None:
    kind = input_kind("signal")
    assert kind.axes == ("batch", "count")
    assert parse_dynamic(["count=2:4:8"], kind.axes) == {"count": AxisRange(2, 4, 8)}
    with pytest.raises(InputError, match='--dynamic height: unknown axis "height"; nearest: '):
        parse_dynamic(["height"], kind.axes)
    assert list(export_faults({"inputs": {"count": (2, 4, 8)}}, kind.axes)) == []
    (fault,) = export_faults({"inputs": {"counts": 4}}, kind.axes)
    assert 'unknown key export.inputs."counts"; nearest: ' in fault
    target = Target({"count": AxisRange(2, 4, 8)})
    assert (target.dynamic_axes, target.preferred) == (("batch", "count"), {"count": 4})
    assert target.with_(count=AxisRange.fixed(3)).sides == {"count": AxisRange.fixed(3)}
    with pytest.raises(InputError, match='unknown target field "height"'):
        target.with_(height=AxisRange.fixed(3))
