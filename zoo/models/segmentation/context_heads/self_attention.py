"""Attention of the places of one map to those of another; parameter names as in mmseg's SelfAttentionBlock."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from zoo.models.segmentation.conv_module import ConvModule

Downsample = Callable[[Tensor], Tensor]


class Scale(nn.Module):
    """A learned factor."""

    def __init__(self, start: float = 0.0) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(start))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale


def projection(in_channels: int, channels: int, convs: int = 1, *, normed: bool) -> nn.Module:
    """1x1 convolutions, `normed` with norm and activation, else bare."""
    make = partial(ConvModule, kernel_size=1) if normed else partial(nn.Conv2d, kernel_size=1)
    layers: list[nn.Module] = [make(channels if index else in_channels, channels) for index in range(convs)]
    return nn.Sequential(*layers) if convs > 1 else layers[0]


class SelfAttention(nn.Module):
    """queries [N, Cq, h, w], keys [N, Ck, ...] -> [N, C_out, h, w], what the keys' places say, weighed by similarity.

    `channels`: those in which places are compared. `convs`, `normed`: of the projections of queries and keys;
    `value_normed`: of the value's. `scaled`: similarities are divided by the root of `channels`. `has_out`: what is
    gathered is projected once more. `shared`: keys are projected as queries are. `key_downsample`: keys and values
    [N, C, h, w] -> [N, C, n], fewer places.
    """

    def __init__(
        self,
        query_channels: int,
        key_channels: int,
        channels: int,
        out_channels: int,
        *,
        convs: int = 1,
        normed: bool = False,
        value_normed: bool = False,
        scaled: bool = True,
        has_out: bool = False,
        shared: bool = False,
        key_downsample: Downsample | None = None,
    ) -> None:
        super().__init__()
        self.key_project = projection(key_channels, channels, convs, normed=normed)
        self.query_project = self.key_project if shared else projection(query_channels, channels, convs, normed=normed)
        value_channels = channels if has_out else out_channels
        self.value_project = projection(key_channels, value_channels, normed=value_normed)
        self.out_project = projection(channels, out_channels, normed=value_normed) if has_out else None
        self.key_downsample = key_downsample
        self.factor = channels**-0.5 if scaled else 1.0

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        query = self.query_project(queries).flatten(2).transpose(1, 2)
        key, value = self.key_project(keys), self.value_project(keys)
        if self.key_downsample is not None:
            key, value = self.key_downsample(key), self.key_downsample(value)
        key, value = key.flatten(2), value.flatten(2)
        weights = torch.softmax(self.factor * (query @ key), dim=-1)
        gathered = (weights @ value.transpose(1, 2)).transpose(1, 2)
        out: Tensor = gathered.reshape(*gathered.shape[:2], *queries.shape[2:])
        return out if self.out_project is None else self.out_project(out)
