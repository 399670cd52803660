"""int8 graphs: OpenVINO computes them in int8, and the three patterns that it gets wrong are kept from it."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import openvino
import pytest

from backends.onnxruntime.runner import OnnxRuntimeRunner
from backends.openvino.backend import OpenVINO
from backends.openvino.opening import open_file
from tests.backends.openvino.graphs import quantised
from zoo.target import AxisRange, Target

IMAGES = np.random.default_rng(0).random((1, 3, 6, 5), np.float32)
PADS = {"flat": np.array([-1, 240]), "p": np.array([0, 0, 0, 100]), "lowest": np.array(-np.inf, np.float32)}
TARGET = Target({"height": AxisRange.fixed(6), "width": AxisRange.fixed(5)}, backend="openvino", precision="int8")


def padded(path: Path) -> Path:
    """As candidates are filled up before a TopK."""
    return quantised(path, "r = Reshape (d, flat)\n  y = Pad (r, p, lowest)", "float[N, M] y", PADS)


def summed(path: Path) -> Path:
    """What a network of one channel adds to the three of its input, as super-resolution does."""
    return quantised(path, "m = Mul (d, t)\n  y = Add (images, m)", "float[N, 3, H, W] y", {"t": np.float32([2])}, 1)


def concatenated(path: Path, step: str = "Identity (cat)") -> Path:
    """Two convolutions side by side, as in the blocks of YOLOv5, and a step behind them."""
    behind = f"""e = Conv (d, f1)
  g = Relu (e)
  h = Relu (c1)
  cat = Concat <axis = 1> (g, h)
  j = {step}
  qc = QuantizeLinear (j, s, z)
  dc = DequantizeLinear (qc, s, z)
  fc = DequantizeLinear (u, s, z)
  y = Conv (dc, fc)"""
    random = np.random.default_rng(1)
    tensors = {
        "u": random.integers(-60, 60, (8, 16, 1, 1)).astype(np.int8),
        "k": random.uniform(-1, 1, (1, 16, 1, 1)).astype(np.float32),
        "o": np.float32(0.7),
    }
    return quantised(path, behind, "float[N, 8, H, W] y", tensors)


STEPS = [
    *("Identity (cat)", "Cast <to = 1> (cat)", "Clip (cat)", "Relu (cat)"),
    *("Add (cat, o)", "Mul (cat, k)", "Div (cat, k)"),
]
GRAPHS = [(padded, 2), (summed, 2), *((partial(concatenated, step=step), 4) for step in STEPS)]


@pytest.mark.parametrize(("graph", "layers"), GRAPHS)
def test_it_computes_in_int8_and_as_onnxruntime(graph: Callable[[Path], Path], layers: int, tmp_path: Path) -> None:
    path = graph(tmp_path / "m.onnx")
    expected = OnnxRuntimeRunner(path, in_floats=True).run({"images": IMAGES})["y"]
    with open_file(path, precision="int8") as runner:
        found = runner.run({"images": IMAGES})["y"]
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(np.isfinite(found), finite)
    assert np.abs(found[finite] - expected[finite]).max() <= 2 * 0.01  # a step of the last rounding, times two
    assert OpenVINO().computed(path, {}, TARGET, None) == {"int8": layers}


def test_openvino_by_itself_refuses_the_padding(tmp_path: Path) -> None:
    core = openvino.Core()
    with pytest.raises(RuntimeError, match="-inf assigned value out of range for i8"):
        core.compile_model(core.read_model(padded(tmp_path / "m.onnx").read_bytes()), "CPU")


@pytest.mark.parametrize("step", STEPS)
def test_openvino_by_itself_rounds_a_concatenation_wrongly(step: str, tmp_path: Path) -> None:
    path = concatenated(tmp_path / "m.onnx", step)
    expected = OnnxRuntimeRunner(path, in_floats=True).run({"images": IMAGES})["y"]
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(path.read_bytes()), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    (found,) = compiled({"images": IMAGES}).values()
    assert np.abs(found - expected).max() > 0.05 * np.ptp(expected)
