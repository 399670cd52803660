"""The identity of a model's weights."""

import hashlib

import torch
from torch import nn


def weights_sha256(model: nn.Module) -> str:
    """Of all parameters and buffers in the order of their names: a line of name, dtype and shape, then the bytes."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()
