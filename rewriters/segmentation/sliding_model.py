"""What slide inference asks of a segmentor: zooport's own, or a codebase's."""

from typing import Any, Protocol

from torch import Tensor

from zoo.windows import Windows


class SlidingModel(Protocol):
    """`test_cfg`: its `crop_size` and `stride`, (h, w) in pixels."""

    test_cfg: dict[str, Any]
    num_classes: int
    align_corners: bool

    @property
    def windows(self) -> Windows:
        """Those of `test_cfg`, and how they are blended."""

    def encode_decode(self, images: Tensor) -> Tensor:
        """images [N, 3, H, W] of one window -> logits [N, C, H, W]."""
