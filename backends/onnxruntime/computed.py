"""What ONNX Runtime really computes in, read back from the kernels that it ran.

A file does not say: its CPU provider casts fp16 to fp32 where it has no fp16 kernel, and a quantised convolution is
computed in float where nothing fits that would join it with the DequantizeLinear before it.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from backends.onnxruntime.session import open_session
from backends.runner import Array
from zoo.errors import ExportError, InputError

LAYERS = frozenset(
    [
        *("Conv", "ConvTranspose", "DeformConv", "Einsum", "GRU", "Gemm", "LSTM", "MatMul", "RNN"),
        *("Attention", "FusedConv", "FusedGemm", "FusedMatMul", "MultiHeadAttention", "NhwcFusedConv"),
    ]
)
"""Kernels that multiply with weights, of the standard and those that ONNX Runtime makes of it: their first input
says what they compute in. The same kinds of nodes are counted in the file (PrecisionReport.nodes): a test compares."""
INTEGER = frozenset(
    [
        *("ConvInteger", "DynamicQuantizeLSTM", "DynamicQuantizeMatMul", "MatMulInteger", "MatMulIntegerToFloat"),
        *("QAttention", "QGemm", "QLinearConv", "QLinearMatMul"),
    ]
)
"""The same in whole numbers, whatever they read and give."""
DTYPES = {"float": "float32", "double": "float64"}
KERNEL = "_kernel_time"


def computed(path: str | os.PathLike[str], feeds: Mapping[str, Array], provider: str = "cpu") -> dict[str, int]:
    """How many layers ran in which dtype ("float32", "float16", "int8"), in one run of a file on `feeds`.

    Each node counts once, however often it ran; what did not run, in a branch, does not. Kernels within another
    runtime (TensorRT's) are not seen. Raises as open_session does, ExportError where the run stops, and InputError
    where the disk is full.
    """
    with TemporaryDirectory(prefix="zooport-profile-") as folder:
        session = open_session(Path(path), provider, None, trace=Path(folder) / "run")
        try:
            session.run(None, dict(feeds))
        except Exception as error:  # ONNX Runtime's errors have no base of their own
            raise ExportError(f"{path}: ONNX Runtime stopped: {' '.join(str(error).split())}") from error
        finally:
            profile = session.end_profiling()
        return _counted(_events(Path(profile)))


def _events(profile: Path) -> Any:
    """ONNX Runtime writes them without looking whether it could."""
    try:
        return json.loads(profile.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{profile}: ONNX Runtime's record of what it ran is cut off ({error}): the disk may be full; make room, "
            "or set TMPDIR to another disk"
        ) from error


def _counted(events: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    kernels = {}
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith(KERNEL):
            details = event["args"]
            kernels[event["name"], details["node_index"], details["op_name"]] = details["input_type_shape"]
    counts: Counter[str] = Counter()
    for (_, _, operator), inputs in kernels.items():
        if operator in INTEGER:
            counts["int8"] += 1
        elif operator in LAYERS:
            kind = next(iter(inputs[0]))
            counts[DTYPES.get(kind, kind)] += 1
    return dict(sorted(counts.items()))
