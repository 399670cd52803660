"""The outputs of any model that gives logits [N, C], by level."""

from torch import Tensor

from zoo.tasks.contract import Contract


class ClassificationFinal(Contract):
    """-> scores float32 [N, C]: probabilities."""

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        return (self.model(images, **self.forward_options).softmax(dim=1),)


class ClassificationDecoded(Contract):
    """-> logits float32 [N, C]."""

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        return (self.model(images, **self.forward_options),)
