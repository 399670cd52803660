"""What runs pieces of a graph: the backend and the device of the target."""

from pathlib import Path
from typing import Any

import onnx
import pytest

from backends.onnxruntime import runner
from pipeline.alignment.engines import piece_opener, whole_opener
from zoo.target import AxisRange, Target

GRAPH = '<ir_version: 10, opset_import: ["": 20]> g (float[N, 3] x) => (float[N, 3] y) {y = Add (x, x)}'


@pytest.mark.parametrize(("device", "pieces", "whole"), [("cpu", "cpu", "cpu"), ("cuda:0", "cuda:0", "cuda:0")])
def test_pieces_run_on_the_device_of_the_target(
    device: str, pieces: str, whole: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def open_runner(path: Path, *tensors: Any, provider: str = "cpu") -> str:
        opened.append(provider)
        return "a runner"

    monkeypatch.setattr(runner, "OnnxRuntimeRunner", open_runner)
    onnx.save(onnx.parser.parse_model(GRAPH), tmp_path / "m.onnx")
    target = Target({"batch": AxisRange(1, 2, 4)}, device=device)
    for opener in (piece_opener, whole_opener):
        assert opener(target)(tmp_path / "m.onnx") == "a runner"
    assert opened == [pieces, whole]
