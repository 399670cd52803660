"""What cells import, imported once: see gpu.forked. Nothing here starts CUDA."""

import sys
import warnings
from importlib import import_module

MODULES = (
    *("torchvision", "onnxruntime"),
    *("pipeline.deploying", "pipeline.evaluating", "pipeline.training"),
    *("gpu.bound_session", "gpu.contenders", "gpu.deployments", "gpu.timed"),
)

warnings.simplefilter("ignore")
for name in MODULES:
    try:
        import_module(name)
    except ImportError as error:  # the cells that need it say so themselves
        print(f"{name}: {error}", file=sys.stderr)
