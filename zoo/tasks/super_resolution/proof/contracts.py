"""Super-resolution, whose one level is final."""

from torch import Tensor

from zoo.tasks.contract import Contract


class SuperResolutionFinal(Contract):
    """-> image float32 [N, 3, H * s, W * s], RGB, clipped to 0..1."""

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        return (self.model(images, **self.forward_options).clamp(0.0, 1.0),)
