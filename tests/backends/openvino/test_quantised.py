"""int8 graphs: OpenVINO computes them in int8, and the two patterns that it gets wrong are kept from it."""

from pathlib import Path

import numpy as np
import openvino
import pytest

from backends.onnxruntime.runner import OnnxRuntimeRunner
from backends.openvino.backend import OpenVINO
from backends.openvino.opening import open_file
from tests.backends.openvino.graphs import RANDOM, quantised
from zoo.target import AxisRange, Target

IMAGES = RANDOM.random((1, 3, 6, 5), np.float32)
PADS = {"flat": np.array([-1, 240]), "p": np.array([0, 0, 0, 100]), "lowest": np.array(-np.inf, np.float32)}
TARGET = Target({"height": AxisRange.fixed(6), "width": AxisRange.fixed(5)}, backend="openvino", precision="int8")


def padded(path: Path) -> Path:
    """As candidates are filled up before a TopK."""
    return quantised(path, "r = Reshape (d, flat)\n  y = Pad (r, p, lowest)", "float[N, M] y", PADS)


def summed(path: Path) -> Path:
    """What a network of one channel adds to the three of its input, as super-resolution does."""
    return quantised(path, "m = Mul (d, t)\n  y = Add (images, m)", "float[N, 3, H, W] y", {"t": np.float32([2])}, 1)


@pytest.mark.parametrize("graph", [padded, summed])
def test_it_computes_in_int8_and_as_onnxruntime(graph: object, tmp_path: Path) -> None:
    path = graph(tmp_path / "m.onnx")  # type: ignore[operator]
    expected = OnnxRuntimeRunner(path, in_floats=True).run({"images": IMAGES})["y"]
    with open_file(path, precision="int8") as runner:
        found = runner.run({"images": IMAGES})["y"]
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(np.isfinite(found), finite)
    assert np.abs(found[finite] - expected[finite]).max() <= 2 * 0.01  # a step of the last rounding, times two
    assert OpenVINO().computed(path, {}, TARGET, None) == {"int8": 2}


def test_openvino_by_itself_refuses_the_padding(tmp_path: Path) -> None:
    core = openvino.Core()
    with pytest.raises(RuntimeError, match="-inf assigned value out of range for i8"):
        core.compile_model(core.read_model(padded(tmp_path / "m.onnx").read_bytes()), "CPU")
