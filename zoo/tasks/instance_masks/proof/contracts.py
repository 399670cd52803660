"""Instances with masks of the whole image, at level final."""

import torch
from torch import Tensor

from zoo.contract.contract import Contract
from zoo.errors import InputError
from zoo.tasks.instance_masks.proof.instances import instances
from zoo.tasks.instance_masks.proof.queries import CLASSES, MASKS, MODEL_OUTPUT, are_queries


class InstanceMasksFinal(Contract):
    """-> num_dets int64 [N], scores float32 [N, Q], labels int64 [N, Q], masks uint8 [N, Q, h, w]."""

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        output = self.model(images, **self.forward_options)
        if not are_queries(output):
            raise InputError(f"model {type(self.model).__name__}: its forward does not give {MODEL_OUTPUT}")
        counts, scores, labels, masks = instances(output[CLASSES], output[MASKS])
        return counts, scores, labels, masks.to(torch.uint8)
