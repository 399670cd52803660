"""Instances with masks of the whole image, at level final."""

import torch
from torch import Tensor

from zoo.errors import InputError
from zoo.tasks.contract import Contract
from zoo.tasks.instance_masks.proof.model_output import EITHER_OUTPUT, instances_of, is_either


class InstanceMasksFinal(Contract):
    """-> num_dets int64 [N], scores float32 [N, K], labels int64 [N, K], masks uint8 [N, K, h, w]."""

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        output = self.model(images, **self.forward_options)
        if not is_either(output):
            raise InputError(f"model {type(self.model).__name__}: its forward does not give {EITHER_OUTPUT}")
        counts, scores, labels, masks = instances_of(self.model, output)
        return counts, scores, labels, masks.to(torch.uint8)
