"""The operators for which the CUDA provider has kernels, by opset, and whether they compute as the CPU does."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented  # noqa: A004 - of ONNX Runtime

from backends.onnxruntime.placement import nodes_on_cpu
from backends.onnxruntime.providers import provider_options
from backends.onnxruntime.session import session_options
from gpu.stage import Findings, Place

OPSETS = (18, 19, 20, 21, 22, 23)
TOLERANCE = 1e-4  # of outputs of about 1
X, IMAGE = "float[N, M] x", "float[1, 4, 8, 8] x"
COLUMNS, ROWS = f"{X}, int64[N, M] i", f"{X}, int64[N, 1] p"
AXES, FACTORS, SCALES = "int64[1] axes = {1}", "float[4] f = {1, 1, 2, 2}", "float[4] s = {1, 2, 3, 4}"
GRAPHS: Mapping[str, tuple[str, str, str]] = {
    "Acos": (X, "", "Acos (x)"),
    "Asin": (X, "", "Asin (x)"),
    "Atan": (X, "", "Atan (x)"),
    "Sin": (X, "", "Sin (x)"),
    "Erf": (X, "", "Erf (x)"),
    "HardSwish": (X, "", "HardSwish (x)"),
    "Round": (X, "", "Round (x)"),
    "Sign": (X, "", "Sign (x)"),
    "CumSum": (X, "int64 zero = {0}", "CumSum (x, zero)"),
    "Einsum": (X, "", 'Einsum <equation = "ij,kj->ik"> (x, x)'),
    "LayerNormalization": (X, SCALES, "LayerNormalization (x, s)"),
    "Pad": (X, "int64[4] pads = {0, 1, 0, 1}", "Pad (x, pads)"),
    "ReduceMax": (X, AXES, "ReduceMax (x, axes)"),
    "ReduceMin": (X, AXES, "ReduceMin (x, axes)"),
    "ReduceL2": (X, AXES, "ReduceL2 (x, axes)"),
    "Split": (X, "", "Split <axis = 1, num_outputs = 2> (x)"),
    "TopK": (X, "int64[1] k = {2}", "TopK (x, k)"),
    "ArgMax": (X, "", "ArgMax <axis = 1> (x)"),
    "ScatterElements max": (COLUMNS, "", 'ScatterElements <axis = 1, reduction = "max"> (x, i, x)'),
    "ScatterElements add": (COLUMNS, "", 'ScatterElements <axis = 1, reduction = "add"> (x, i, x)'),
    "ScatterND max": (ROWS, "", 'ScatterND <reduction = "max"> (x, p, x)'),
    "ScatterND add": (ROWS, "", 'ScatterND <reduction = "add"> (x, p, x)'),
    "GatherElements": (COLUMNS, "", "GatherElements <axis = 1> (x, i)"),
    "GatherND": (ROWS, "", "GatherND (x, p)"),
    "GridSample": (f"{IMAGE}, float[1, 5, 5, 2] g", "", "GridSample (x, g)"),
    "Resize linear": (IMAGE, FACTORS, 'Resize <mode = "linear"> (x, , f)'),
    "Resize cubic": (IMAGE, FACTORS, 'Resize <mode = "cubic"> (x, , f)'),
    "Resize antialias": (
        IMAGE,
        "float[4] f = {1, 1, 0.5, 0.5}",
        'Resize <mode = "linear", antialias = 1> (x, , f)',
    ),
    "RoiAlign": (f"{IMAGE}, float[3, 4] r", "int64[3] b = {0, 0, 0}", "RoiAlign <output_height = 2> (x, r, b)"),
    "DeformConv": (f"{IMAGE}, float[2, 4, 1, 1] w, float[1, 2, 8, 8] o", "", "DeformConv (x, w, o)"),
    "NonMaxSuppression": (
        "float[1, 3, 4] x, float[1, 1, 3] s",
        "int64 n = {3}, float t = {0.5}",
        "NonMaxSuppression (x, s, n, t)",
    ),
    "Unique": ("float[M] x", "", "Unique (x)"),
    "NonZero": (X, "", "NonZero (x)"),
    "InstanceNormalization": (IMAGE, SCALES, "InstanceNormalization (x, s, s)"),
}
"""The inputs of a graph, its constants, and its node. `i`: indices of columns, `p`: of rows, `r`: regions."""
SINCE = {"DeformConv": 19}


def kernels(place: Place, findings: Findings) -> None:
    """The operators that are left to the CPU at each opset, and those whose results differ from the CPU's."""
    for opset in OPSETS:
        left, differing, nowhere = [], [], []
        for name in GRAPHS:
            if opset < SINCE.get(name, 0):
                continue
            with findings.trying(f"{name}, opset {opset}"):
                try:
                    session, expected, outputs = _both(_model(name, opset), place.device)
                except NotImplemented:
                    nowhere.append(name)
                    continue
                left += [name] if nodes_on_cpu(session) else []
                pairs = zip(outputs, expected, strict=True)
                differing += [name] if any(_off(*pair) > TOLERANCE for pair in pairs) else []
        for what, names in (("on the CPU", left), ("without a kernel", nowhere), ("differ", differing)):
            findings.add({f"{what} at opset {opset}": ", ".join(names) or "none"})


def _model(name: str, opset: int) -> bytes:
    inputs, constants, node = GRAPHS[name]
    outputs = "y, z" if name in ("TopK", "Split") else "y"
    values = f" <{constants}>" if constants else ""
    text = f'<ir_version: 10, opset_import: ["": {opset}]> g ({inputs}) => ({outputs}){values} {{{outputs} = {node}}}'
    return bytes(onnx.parser.parse_model(text).SerializeToString())


def _both(content: bytes, device: str) -> tuple[Any, list[Any], list[Any]]:
    """The session on the device, what the CPU gives, and what the device gives."""
    import onnxruntime as ort

    found = []
    for provider in ("cpu", device):
        settings = session_options(lean=False)
        settings.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        name, options = provider_options(provider)
        session = ort.InferenceSession(content, settings, providers=[name], provider_options=[options])
        feeds = {value.name: _values(value.name, value.shape, value.type) for value in session.get_inputs()}
        found.append((session, session.run(None, feeds)))
    return found[1][0], found[0][1], found[1][1]


def _values(name: str, shape: list[int | str], kind: str) -> Any:
    """Of N = 3 and M = 4: indices of rows, which are distinct, or numbers between -1 and 1."""
    sizes = [{"N": 3, "M": 4}.get(size, 1) if isinstance(size, str) else size for size in shape]
    if kind == "tensor(int64)":
        return np.indices(sizes)[0] if name == "p" else np.indices(sizes)[-1][:, ::-1].copy()
    values = np.random.default_rng(0).uniform(-1, 1, sizes).astype(np.float32)
    return np.sort(values * 4 + 4, axis=-1) if name == "r" else values


def _off(actual: Any, expected: Any) -> float:
    if actual.shape != expected.shape:
        return float("inf")
    return float(np.abs(actual.astype(np.float64) - expected).max(initial=0.0))
