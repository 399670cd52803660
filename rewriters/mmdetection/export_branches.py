"""torch.onnx.is_in_onnx_export, as mmdetection asks it: always False.

mmdetection 3 has branches for exports that nobody keeps up: one imports a package of mmdetection 2, others leave out
what the model does elsewhere. An export must be the model that runs in PyTorch.
"""

import sys
from collections.abc import Callable

import torch.onnx

from rewriters.mmdetection.versions import WRITTEN_FOR
from rewriters.patching.rewriter import rewrites

LIBRARIES = ("mmdet", "mmcv")
CALLER = 2  # frames from the replacement to who calls what it replaces: between them is the dispatcher


@rewrites(
    torch.onnx,
    "is_in_onnx_export",
    reason="mmdetection takes another path inside an export, which fails or is another model",
    written_for=WRITTEN_FOR,
)
def not_for_libraries(_original: Callable[[], bool]) -> bool:
    """False where mmdetection or mmcv asks; the original for everybody else."""
    caller = sys._getframe(CALLER).f_globals.get("__name__", "")  # noqa: SLF001 - there is no public name for it
    return False if caller.partition(".")[0] in LIBRARIES else NotImplemented
