"""Several decode heads, one after another: mmseg's CascadeEncoderDecoder."""

from collections.abc import Iterable, Sequence

from torch import Tensor, nn

from zoo.models.segmentation.decode_head import DecodeHead


class DecodeHeads(nn.ModuleList):
    """Feature maps -> the logits [N, num_classes, h, w] of the last head. Each other one's go to the next."""

    def __init__(self, heads: Iterable[nn.Module]) -> None:
        super().__init__(heads)
        last = self[-1]
        assert isinstance(last, DecodeHead)
        self.align_corners, self.num_classes = last.align_corners, last.num_classes
        self.trained_only = tuple(
            f"{index}.{name}" for index, head in enumerate(self) for name in getattr(head, "trained_only", ())
        )

    def forward(self, features: Sequence[Tensor]) -> Tensor:
        return self.outputs(features)[-1]

    def outputs(self, features: Sequence[Tensor]) -> list[Tensor]:
        """The logits of all heads."""
        first, *others = self
        outputs = [first(features)]
        for head in others:
            outputs.append(head(features, outputs[-1]))
        return outputs
