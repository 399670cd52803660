"""What the manifest says of the weights."""

import torch
from torch import nn

from pipeline.export.manifest import weights_sha256


def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4))


def test_the_hash_is_that_of_the_weights() -> None:
    first = weights_sha256(model())
    assert first == weights_sha256(model())
    assert first == weights_sha256(model().to(memory_format=torch.channels_last))
    assert len(first) == 64


def test_any_other_value_dtype_or_name_gives_another_hash() -> None:
    found = {weights_sha256(model()), weights_sha256(model().double()), weights_sha256(nn.ModuleDict({"m": model()}))}
    other = model()
    other.get_buffer("1.num_batches_tracked").add_(1)
    assert len(found | {weights_sha256(other)}) == 4
