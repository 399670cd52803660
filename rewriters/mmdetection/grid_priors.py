"""The prior generators' grid_priors: anchors and points are constants of the graph."""

from collections.abc import Callable, Sequence
from typing import Any

from mmdet.models.task_modules.prior_generators import AnchorGenerator, MlvlPointGenerator
from torch import Tensor

from rewriters.mmdetection.versions import CONSTANT, WRITTEN_FOR
from rewriters.patching.constants import static_size, untraced
from rewriters.patching.fixed_size import has_fixed_size
from rewriters.patching.rewriter import rewrites
from zoo.models.mmdet.levels import MmdetRaw


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


@rewrites(MmdetRaw, "map_sizes", reason=CONSTANT, written_for="zooport 0.1", exporter="torchscript")
def fixed_sizes(_original: Callable[..., Any], _self: MmdetRaw, maps: Sequence[Tensor]) -> Any:
    """Plain numbers, of which priors are constants, where the target fixes the size."""
    return [static_size(level) for level in maps] if has_fixed_size() else NotImplemented
