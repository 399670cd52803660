"""A process that trains a small model with a plain Runner of mmengine, into the folder that it is given.

In a process of its own, because a Runner leaves loggers and a default scope behind. Run by test_torch_file.py.
"""

import sys
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from mmengine.model import BaseModel
from mmengine.runner import Runner
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset


class Wrapped(BaseModel):  # type: ignore[misc]  # mmengine is untyped
    def __init__(self) -> None:
        super().__init__()
        self.model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))

    def forward(self, images: Tensor, mode: str = "loss") -> dict[str, Tensor]:
        return {"loss": self.model(images).square().mean(), "loss_more": self.model(images).abs().mean()}


class Noise(Dataset[Tensor]):
    metainfo: ClassVar[dict[str, Any]] = {"classes": ("a", "b"), "palette": np.zeros((2, 3), np.uint8)}

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Tensor:
        return torch.rand(3, 8, 8)


def batch(samples: list[Tensor]) -> dict[str, Tensor]:
    return {"images": torch.stack(samples)}


def main(folder: Path) -> None:
    model = Wrapped()
    loader: Any = DataLoader(Noise(), 2, collate_fn=batch)
    Runner(
        model=model,
        work_dir=str(folder),
        train_dataloader=loader,
        train_cfg={"by_epoch": True, "max_epochs": 2},
        optim_wrapper={"type": "OptimWrapper", "optimizer": {"type": "AdamW", "lr": 1e-3}},
        param_scheduler={"type": "MultiStepLR", "milestones": [1]},
        default_hooks={"logger": {"type": "LoggerHook", "interval": 1}},
        experiment_name="plain",
    ).train()
    torch.save(model.model.state_dict(), folder / "expected.pth")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
