"""The engine's step of a deploy: what it asks for, and that the engine computes in the precision that was made."""

from pathlib import Path
from typing import Any

import pytest
from torch import nn

from backends.backend import Built
from backends.engine_options import EngineOptions
from backends.tensorrt import build
from backends.tensorrt.engine_record import EngineRecord
from pipeline.export import engine_step as step
from rewriters.precision import PrecisionReport
from tests.backends.tensorrt.graphs import convolution
from zoo.errors import ExportError
from zoo.target import AxisRange, Target


def record(layers: dict[str, int]) -> EngineRecord:
    return EngineRecord(
        backend="tensorrt-rtx",
        library_version="1.7",
        device=None,
        precision="fp16",
        options=EngineOptions(),
        profiles=(),
        values={},
        layers=layers,
        onnx_sha256="",
        plan_sha256="",
        bytes=0,
    )


@pytest.mark.parametrize(
    ("precision", "stored", "layers", "good"),
    [
        ("fp16", {"float16": 8, "float32": 2}, {"float16": 8, "float32": 2}, True),
        ("fp16", {"float16": 8}, {"float16": 9}, True),
        ("fp16", {"float16": 8, "float32": 2}, {"float16": 1, "float32": 9}, False),
        ("int8", {"int8": 8}, {"float32": 8}, False),
        ("int8", {"int8": 8}, {"int8": 8}, True),
        ("fp16", {}, {}, False),
    ],
)
def test_the_engine_computes_what_the_file_has(
    precision: str, stored: dict[str, int], layers: dict[str, int], *, good: bool
) -> None:
    report = PrecisionReport(precision, stored)
    if good:
        step.check_computed(report, Built("", 1.0, layers))
    else:
        with pytest.raises(ExportError, match=rf"precision {precision}: . layers of model.onnx are in .*; see what"):
            step.check_computed(report, Built("", 1.0, layers))


@pytest.mark.parametrize(("device", "built_on"), [("cpu", "cuda:0"), ("cuda:1", "cuda:1")])
def test_it_is_built_for_the_targets_device_and_precision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: str, built_on: str
) -> None:
    asked: dict[str, Any] = {}

    def build_engine(*given: Any, **options: Any) -> build.BuiltEngine:
        asked.update(options)
        return build.BuiltEngine(record({"float16": 1}), 1.0)

    monkeypatch.setattr(build, "build_engine", build_engine)
    convolution(tmp_path / "model.onnx")
    side = AxisRange.fixed(16)
    target = Target({"height": side, "width": side}, backend="tensorrt-rtx", precision="fp16", device=device)
    report = PrecisionReport("fp16", {"float16": 1})
    built = step.engine_step(target, tmp_path, nn.Identity(), report)
    assert built is not None
    assert (built.layers, built.seconds) == ({"float16": 1}, 1.0)
    assert built.summary == "tensorrt-rtx 1.7, 0.0 MiB"
    assert asked == {"precision": "fp16", "device": built_on}
    with pytest.raises(ExportError, match="2 layers of model.onnx are in float16, and the engine computes 1 in it"):
        step.engine_step(target, tmp_path, nn.Identity(), PrecisionReport("fp16", {"float16": 2}))
