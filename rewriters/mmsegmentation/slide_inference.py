"""mmsegmentation's slide inference in a graph: as that of zooport's own segmentors."""

from collections.abc import Callable

from torch import Tensor

from rewriters.patching.rewriter import rewrites
from rewriters.segmentation.slide_inference import slide_inference_in_graph
from zoo.models.mmseg import MmsegSegmentor


@rewrites(
    MmsegSegmentor,
    "slide_inference",
    reason="pads the logits of each window to the image, and asserts on the values of a tensor; with a dynamic size "
    "the traced windows would be silently frozen",
    written_for="zooport 0.1",
)
def mmseg_slide_inference_in_graph(original: Callable[..., Tensor], self: MmsegSegmentor, images: Tensor) -> Tensor:
    """images [N, 3, H, W] -> mean logits [N, C, H, W]."""
    return slide_inference_in_graph(original, self, images)
