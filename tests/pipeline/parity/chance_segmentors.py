"""Segmentors with weights by chance, whose labels change at every few pixels: a rounding changes many of them."""

import torch
from torch import Tensor, nn

import zoo.models  # noqa: F401 - registers them
from zoo.registry import MODELS

CLASSES = 19


class _Block(nn.Sequential):
    """Two convolutions [N, a, H, W] -> [N, b, H, W], as in the original U-Net, with batch normalisation."""

    def __init__(self, a: int, b: int) -> None:
        layers = [(nn.Conv2d(side, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU()) for side in (a, b)]
        super().__init__(*(layer for group in layers for layer in group))


class UNet(nn.Module):
    """Images [N, 3, H, W] -> logits [N, CLASSES, H, W]. After Ronneberger et al., 2015; heights by 4."""

    def __init__(self, widths: tuple[int, int, int] = (8, 16, 32)) -> None:
        super().__init__()
        self.down = nn.ModuleList(_Block(a, b) for a, b in zip((3, *widths[:-1]), widths, strict=True))
        self.up = nn.ModuleList(_Block(a + b, b) for a, b in zip(widths[:0:-1], widths[-2::-1], strict=True))
        self.classify = nn.Conv2d(widths[0], CLASSES, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Logits at the images' size."""
        skips = []
        for level, block in enumerate(self.down):
            x = block(nn.functional.max_pool2d(x, 2) if level else x)
            skips.append(x)
        for block, skip in zip(self.up, skips[-2::-1], strict=True):
            x = block(torch.cat([nn.functional.interpolate(x, scale_factor=2.0, mode="bilinear"), skip], dim=1))
        logits: Tensor = self.classify(x)
        return logits


def segformer() -> nn.Module:
    """The zoo's EncoderDecoder with SegFormer's backbone and head, one layer a stage."""
    backbone = {"type": "MixVisionTransformer", "embed_dims": 8, "num_layers": (1, 1, 1, 1), "num_heads": (1, 2, 5, 8)}
    widths = [8, 16, 40, 64]
    head = {"type": "SegformerHead", "in_channels": widths, "in_index": (0, 1, 2, 3), "channels": 16}
    model: nn.Module = MODELS.build(
        {
            "type": "EncoderDecoder",
            "backbone": backbone,
            "decode_head": {**head, "num_classes": CLASSES},
            "test_cfg": {"mode": "whole"},
        }
    )
    return model


def chance_segmentor(name: str, images: Tensor, seed: int = 0) -> nn.Module:
    """``name``: "unet" or "segformer"; its statistics, and those of its logits, made those of ``images``.

    Each class has the same mean and deviation of its logits, as if training had balanced them.
    """
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = UNet() if name == "unet" else segformer()
        model.train()
        with torch.no_grad():
            for _ in range(20):
                model(images)
            model.eval()
            logits = model(images)
            (last,) = (m for m in model.modules() if isinstance(m, nn.Conv2d) and m.out_channels == CLASSES)
            mean, deviation = logits.mean(dim=(0, 2, 3)), logits.std(dim=(0, 2, 3))
            assert last.bias is not None
            last.weight /= deviation[:, None, None, None]
            last.bias.copy_((last.bias - mean) / deviation)
    return model
