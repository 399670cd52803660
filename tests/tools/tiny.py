"""A model so small that a whole deploy takes a second, and what a call of a tool gave."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

SIZE = (64, 96)
CLASSES = ["dark", "red", "green", "blue"]

DIGITS = Path(__file__).parents[2] / "zoo" / "data" / "digits" / "val" / "images"
SAMPLE_IMAGES = f'dataset = dict(type="ImageFolder", root="{DIGITS}")\n'  # without truth
CONFIG = """
model = dict(type="TinySegmentor")
checkpoint = "tiny.safetensors"
task = dict(type="SemanticSegmentation", classes=[dict(name=n, category_id=i) for i, n in enumerate({classes})])
preprocess = dict(size={size})
export = dict(exporter="torchscript", opset=17, inputs=dict(batch=(1, 2, 4)), forward=dict(mode="tensor"))
{more}
"""


class TinySegmentor(nn.Module):
    """A pixel's class is its strongest channel, or dark."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, len(CLASSES), 1)
        with torch.no_grad():
            self.conv.weight.copy_(torch.eye(4, 3).roll(1, 0)[:, :, None, None])
            self.conv.bias.copy_(torch.tensor((0.4, 0.0, 0.0, 0.0)))

    def forward(self, images: Tensor, mode: str = "tensor") -> Tensor:
        """Logits [N, 4, H, W]; labels [N, H, W] where `mode` is "predict"."""
        if mode not in ("tensor", "predict"):
            raise ValueError(f'unknown mode "{mode}"')
        logits: Tensor = self.conv(images)
        return logits if mode == "tensor" else logits.argmax(dim=1)


@dataclass(frozen=True)
class Tiny:
    """A config with its checkpoint and two images, in a folder of their own, and a work dir that is not there yet."""

    folder: Path

    @property
    def config(self) -> Path:
        return self.folder / "tiny.py"

    @property
    def images(self) -> list[Path]:
        return [self.folder / "one.png", self.folder / "two.png"]

    @property
    def work_dir(self) -> Path:
        return self.folder / "out" / "work"

    @property
    def place(self) -> Path:
        return self.work_dir / "semantic-segmentation" / "tiny" / "onnxruntime-fp32"

    def arguments(self, *more: object) -> list[str]:
        return [str(self.config), "--work-dir", str(self.work_dir), *map(str, more)]

    def with_images(self, *more: object) -> list[str]:
        return self.arguments("--image", *self.images, *more)

    def write(self, more: str = "", **fields: Any) -> None:
        text = CONFIG.format(**{"classes": CLASSES, "size": SIZE, "more": more, **fields})
        self.config.write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class Run:
    """What a call of a tool gave."""

    code: int
    out: str
    err: str
