"""The prior generators' grid_priors: anchors and points are constants of the graph."""

from collections.abc import Callable, Sequence
from typing import Any

from mmdet.models.task_modules.prior_generators import AnchorGenerator, MlvlPointGenerator

from rewriters.mmdetection.versions import CONSTANT, WRITTEN_FOR
from rewriters.patching.constants import untraced
from rewriters.patching.rewriter import rewrites


def constant_priors(
    original: Callable[..., Any], self: Any, featmap_sizes: Sequence[tuple[Any, Any]], *arguments: Any, **options: Any
) -> Any:
    """The original's, computed while no tracer looks, where the sizes of the maps are plain numbers."""
    if not all(isinstance(side, int) for size in featmap_sizes for side in size):
        return NotImplemented
    return untraced(lambda: original(self, featmap_sizes, *arguments, **options))


for _generator in (AnchorGenerator, MlvlPointGenerator):
    rewrites(_generator, "grid_priors", reason=CONSTANT, written_for=WRITTEN_FOR, exporter="torchscript")(
        constant_priors
    )
