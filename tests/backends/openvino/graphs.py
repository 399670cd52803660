"""Small ONNX files for OpenVINO."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import parser

RANDOM = np.random.default_rng(0)


def written(path: Path, text: str, tensors: dict[str, np.ndarray] | None = None, domains: Sequence[str] = ()) -> Path:
    """A file of the graph in ONNX's text form, with these constants."""
    opsets = ", ".join(['"" : 20', *(f'"{domain}" : 1' for domain in domains)])
    model = parser.parse_model(f"<ir_version: 10, opset_import: [{opsets}]>\n{text}")
    for name, value in (tensors or {}).items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(value, name))
    path.write_bytes(model.SerializeToString())
    return path


def convolution(path: Path) -> Path:
    """images [N, 3, H, W] -> y [N, 64, H, W] by two convolutions with sums of hundreds of products."""
    weights = {
        "w": RANDOM.standard_normal((64, 3, 3, 3)).astype(np.float32),
        "v": RANDOM.standard_normal((64, 64, 3, 3)).astype(np.float32),
    }
    text = (
        "net (float[N, 3, H, W] images) => (float[N, 64, H, W] y) {\n"
        "  x = Conv <pads = [1, 1, 1, 1]> (images, w)\n  y = Conv <pads = [1, 1, 1, 1]> (x, v)\n}"
    )
    return written(path, text, weights)


def quantised(
    path: Path, behind: str, outputs: str, tensors: dict[str, np.ndarray] | None = None, channels: int = 8
) -> Path:
    """images [N, 3, H, W] -> two quantised convolutions -> d, in 8 bits -> what `behind` makes of it."""
    random = np.random.default_rng(0)
    shared = {
        "w": random.integers(-60, 60, (8, 3, 1, 1)).astype(np.int8),
        "v": random.integers(-60, 60, (channels, 8, 1, 1)).astype(np.int8),
        "s": np.array(0.01, np.float32),
        "z": np.array(0, np.int8),
    }
    steps = "\n".join(
        f"  q{i} = QuantizeLinear ({x}, s, z)\n  d{i} = DequantizeLinear (q{i}, s, z)\n"
        f"  f{i} = DequantizeLinear ({w}, s, z)\n  c{i} = Conv (d{i}, f{i})"
        for i, x, w in ((0, "images", "w"), (1, "c0", "v"))
    )
    last = "\n  q = QuantizeLinear (c1, s, z)\n  d = DequantizeLinear (q, s, z)\n"
    text = f"net (float[N, 3, H, W] images) => ({outputs}) {{\n{steps}{last}  {behind}\n}}"
    return written(path, text, {**shared, **(tensors or {})})
