"""What mmseg's transformers share: cutting an image into patches, attention, and the layers after it."""

import torch.nn.functional as F
from torch import Tensor, nn
from torchvision.ops import StochasticDepth


def shortage(size: int, side: int) -> int:
    """How many places a size is short of a multiple of `side`."""
    return (side - size % side) % side


def filled(x: Tensor, side: int) -> Tensor:
    """[N, C, h, w] with zeros below and on the right of it, until both sides are multiples of `side`."""
    height, width = x.shape[2:]
    return F.pad(x, (0, shortage(width, side), 0, shortage(height, side)))


class Patches(nn.Module):
    """[N, C_in, H, W] -> [N, channels, h, w], a place for each square of `side` places, the last ones filled up."""

    def __init__(self, channels: int, side: int, in_channels: int = 3, *, bias: bool = True) -> None:
        super().__init__()
        self.side = side
        self.projection = nn.Conv2d(in_channels, channels, side, side, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.projection(filled(x, self.side))
        return out


class NormedPatches(Patches):
    """The same with a norm, and channels last: [N, C_in, H, W] -> [N, h, w, channels]."""

    def __init__(self, channels: int, side: int, in_channels: int = 3) -> None:
        super().__init__(channels, side, in_channels)
        self.norm = nn.LayerNorm(channels)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.norm(super().forward(x).permute(0, 2, 3, 1))
        return out


class SelfAttention(nn.Module):
    """Multi-head attention of all tokens [N, n, C] to each other."""

    def __init__(self, channels: int, num_heads: int, *, qkv_bias: bool) -> None:
        super().__init__()
        self.attn = nn.MultiheadAttention(channels, num_heads, bias=qkv_bias, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.attn(x, x, x, need_weights=False)[0]
        return out


class FeedForward(nn.Module):
    """Two layers on each token: [..., C] -> the same."""

    def __init__(self, channels: int, hidden: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Sequential(nn.Linear(channels, hidden), nn.GELU()), nn.Linear(hidden, channels))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.layers(x)
        return out


class TransformerLayer(nn.Module):
    """Attention and two layers on tokens [N, n, C], each after a norm and around a shortcut."""

    def __init__(
        self, channels: int, num_heads: int, mlp_ratio: int, drop_path: float, norm_eps: float, *, qkv_bias: bool
    ) -> None:
        super().__init__()
        self.ln1 = nn.LayerNorm(channels, norm_eps)
        self.attn = SelfAttention(channels, num_heads, qkv_bias=qkv_bias)
        self.ln2 = nn.LayerNorm(channels, norm_eps)
        self.ffn = FeedForward(channels, mlp_ratio * channels)
        self.drop_path = StochasticDepth(drop_path, "row")

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.drop_path(self.attn(self.ln1(x)))
        out: Tensor = x + self.drop_path(self.ffn(self.ln2(x)))
        return out


class MapLayer(nn.Module):
    """An attention and two layers on each place of [N, h, w, C], each after a norm and around a shortcut."""

    def __init__(self, attention: nn.Module, channels: int, mlp_ratio: int, drop_path: float) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(channels)
        self.attn = attention
        self.norm2 = nn.LayerNorm(channels)
        self.ffn = FeedForward(channels, int(mlp_ratio * channels))
        self.drop_path = StochasticDepth(drop_path, "row")

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.drop_path(self.attn(self.norm1(x)))
        out: Tensor = x + self.drop_path(self.ffn(self.norm2(x)))
        return out
