"""Whether ONNX Runtime's provider for a device starts in a process without torch, or with it. Prints JSON.

Called as a script, with the device and one of WAYS.
"""

import json
import sys
from typing import Any

import numpy as np

WAYS = ("by itself", "after preload_dlls", "after torch")
"""Where the CUDA provider finds CUDA's libraries: in the system, in packages of pip, in torch's process."""
GRAPH = '<ir_version: 10, opset_import: ["": 18]> g (float[2] x) => (float[2] y) {y = Add (x, x)}'


def started(device: str, way: str) -> dict[str, Any]:
    """What ran a small graph, and whether its numbers are right; or the error."""
    import onnxruntime

    from backends.onnxruntime.providers import provider_options
    from backends.onnxruntime.session import session_options

    if way == WAYS[1]:
        onnxruntime.preload_dlls()
    elif way == WAYS[2]:
        import torch  # noqa: F401 - its CUDA libraries are what counts
    import onnx

    content = onnx.parser.parse_model(GRAPH).SerializeToString()
    try:
        name, options = provider_options(device)
        session = onnxruntime.InferenceSession(
            content, session_options(), providers=[name], provider_options=[options], enable_fallback=0
        )
        (doubled,) = session.run(None, {"x": np.array([1, 2], np.float32)})
    except Exception as error:  # noqa: BLE001 - which one is what is to be found out
        return {"error": " ".join(str(error).split())}
    figures = {"onnxruntime": onnxruntime.__version__, "runs on": session.get_providers()[0]}
    return {**figures, "right": doubled.tolist() == [2, 4]}


if __name__ == "__main__":
    print(json.dumps(started(*sys.argv[1:3])))
