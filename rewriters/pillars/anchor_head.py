"""The boxes and directions of the candidates alone, of which there are some hundred among as many thousand anchors."""

from collections.abc import Callable
from typing import Any, NamedTuple

from torch import Tensor, nn

from rewriters.patching.rewriter import rewrites
from rewriters.torchvision_detection.padded import gather_rows
from zoo.models.pillars.point_pillars import AnchorHead, by_place
from zoo.target import RESULTS


class MapOnDemand(NamedTuple):
    """A map of the head that is not computed yet: a convolution with a kernel of 1, and its features [N, F, h, w]."""

    conv: nn.Conv2d
    features: Tensor
    width: int

    def rows(self, index: Tensor) -> Tensor:
        """The rows of the anchors `index` int64 [N, K] -> [N, K, width]."""
        anchors = self.conv.out_channels // self.width
        place = index // anchors
        columns = self.features.flatten(2)
        used = columns.gather(2, place[:, None].expand(-1, columns.shape[1], -1))
        rows = self.conv(used[:, :, None])[:, :, 0].transpose(1, 2)  # the module itself: what keeps it in fp32 finds it
        by_anchor = rows.reshape(*rows.shape[:2], anchors, self.width)
        anchor = (index - place * anchors)[..., None, None].expand(-1, -1, 1, self.width)
        used_rows: Tensor = by_anchor.gather(2, anchor)[:, :, 0]
        return used_rows


@rewrites(
    AnchorHead,
    "forward",
    reason="computes boxes and directions of every anchor, of which those of the candidates are used",
    written_for="zooport 0.1",
    levels=RESULTS,
)
def head_of_candidates(
    original: Callable[..., Any],
    self: AnchorHead,
    features: Tensor,
) -> tuple[Tensor, MapOnDemand, MapOnDemand]:
    """features [N, F, h, w] -> class logits [N, M, C], and the other two maps on demand."""
    classes, boxes, directions = self.widths
    return (
        by_place(self.classes(features), classes),
        MapOnDemand(self.boxes, features, boxes),
        MapOnDemand(self.directions, features, directions),
    )


def rows_of(map_: Tensor | MapOnDemand, index: Tensor) -> Tensor:
    """The rows `index` int64 [N, K] of a map [N, M, D], or of one on demand -> [N, K, D]."""
    return map_.rows(index) if isinstance(map_, MapOnDemand) else gather_rows(map_, index)
