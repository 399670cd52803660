"""What OpenVINO really computes in, read back from the graph that it executes."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from backends.openvino.opening import open_file

LAYERS = frozenset(
    ("Convolution", "Deconvolution", "DeformableConvolution", "FullyConnected", "MatMul", "GroupConvolution")
) | frozenset(("RNNCell", "RNNSeq", "LSTMCell", "GRUCell", "ScaledDotProductAttention", "MHA"))
"""Layers that multiply with weights, by OpenVINO's names. The same kinds of nodes are counted in the file
(PrecisionReport.nodes). Those within a loop or a branch are not seen."""
DTYPES = {
    "f32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "u8": "int8",
    "i8": "int8",
    "FP32": "float32",
    "FP16": "float16",
    "BF16": "bfloat16",
    "U8": "int8",
    "I8": "int8",
}
"""In capitals on GPUs. "int8": the layer's activations are bytes, signed or not."""


def computed(path: Path, device: str, precision: str) -> Mapping[str, int]:
    """How many layers of the compiled file compute in which dtype: "float32", "float16", "bfloat16", "int8".

    Raises as open_file does.
    """
    counts: Counter[str] = Counter()
    with open_file(path, device, precision) as runner:
        for layer in runner.layers:
            facts = layer.get_rt_info()
            if str(facts["layerType"].astype(str)) in LAYERS:
                kind = str(facts["runtimePrecision"].astype(str))
                counts[DTYPES.get(kind, kind)] += 1
    return dict(sorted(counts.items()))
