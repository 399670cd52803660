"""TransformersSegmentor whose queries have masks, by dynamo: one size, or a refusal."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from rewriters.patching.fixed_size import require_fixed_size
from rewriters.patching.rewriter import rewrites
from zoo.models.transformers.segmentors import TransformersSegmentor


@rewrites(
    TransformersSegmentor,
    "raw",
    reason="dynamo keeps sizes of the traced image in these models: the graph fails at another one, or gives the "
    "traced size",
    written_for="transformers 5.23",
    exporter="dynamo",
)
def raw_of_one_size(_original: Callable[..., Any], self: TransformersSegmentor, _images: Tensor) -> Any:
    """Raises ExportError for masks at a dynamic size; nothing is replaced."""
    if self.has_masks:
        require_fixed_size(f"a {self.model.config.model_type} by dynamo (torchscript takes any size)")
    return NotImplemented
