"""Plain modules: the task Tensors, whatever their forward gives."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from own_model_case import OwnModel
from torch import Tensor, nn
from torchvision_models import sample_images

from zoo.random_weights import learn_statistics
from zoo.tasks import build_task

MADE_OF = ("zoo/tasks/tensors",)
CHANNELS, SIZE, SECOND = 32, (96, 128), (108, 140)
CANDIDATES = 50


class Pose(NamedTuple):
    """heatmaps [N, 17, H / 4, W / 4]; places [N, 17, 2]: x, y of each maximum, as parts of the width and height."""

    heatmaps: Tensor
    places: Tensor


class Plain(nn.Module):
    """Two convolutions, and below them what a subclass makes of their features [N, C, H / 4, W / 4]."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            *(nn.Conv2d(3, CHANNELS, 3, 2, 1), nn.BatchNorm2d(CHANNELS), nn.ReLU()),
            *(nn.Conv2d(CHANNELS, CHANNELS, 3, 2, 1), nn.BatchNorm2d(CHANNELS), nn.ReLU()),
        )
        self.head = nn.Conv2d(CHANNELS, channels, 1)


class Embedder(Plain):
    """A dictionary: an embedding of unit length, and a heatmap."""

    def forward(self, images: Tensor) -> dict[str, Tensor]:
        """embedding [N, C], heatmap [N, 1, H / 4, W / 4]."""
        features = self.stem(images)
        return {"embedding": F.normalize(features.mean(dim=(2, 3))), "heatmap": self.head(features).sigmoid()}


class PoseNet(Plain):
    """A named tuple: heatmaps, and the mean place of each."""

    def forward(self, images: Tensor) -> Pose:
        """See Pose."""
        heatmaps = self.head(self.stem(images))
        weights = heatmaps.flatten(2).softmax(dim=2).view_as(heatmaps)
        x, y = (torch.linspace(0, 1, side) for side in (heatmaps.shape[3], heatmaps.shape[2]))
        places = torch.stack([(weights.sum(dim=2) * x).sum(dim=2), (weights.sum(dim=3) * y).sum(dim=2)], dim=2)
        return Pose(heatmaps, places)


class DepthNet(Plain):
    """One tensor: a depth for each pixel of the image."""

    def forward(self, images: Tensor) -> Tensor:
        """[N, H, W], above 0."""
        depth = F.interpolate(self.head(self.stem(images)), images.shape[2:], mode="bilinear")
        return F.softplus(depth)[:, 0]


class Candidates(Plain):
    """A tuple: the scores of the best places, and their features. Rows, whose order a tie may change."""

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """[N, K] and [N, K, C], the best first."""
        features = self.stem(images)
        scores, places = self.head(features).flatten(1).topk(CANDIDATES)
        rows = features.flatten(2).transpose(1, 2)
        return scores, rows.gather(1, places.unsqueeze(2).expand(-1, -1, CHANNELS))


def _case(kind: type[Plain], channels: int, **task: Any) -> Callable[[], OwnModel]:
    def build() -> OwnModel:
        torch.manual_seed(0)
        model, images = kind(channels), sample_images(3, SIZE)
        learn_statistics(model, lambda: model(images))
        return OwnModel(model, build_task({"type": "Tensors", **task}), images, sample_images(1, SECOND))

    return build


CASES = {
    "dictionary: embedding, heatmap": _case(Embedder, 1, keep=["embedding", "heatmap"]),
    "named tuple: heatmaps, places": _case(PoseNet, 17, keep=["heatmaps", "places"]),
    "one tensor: depth": _case(DepthNet, 1, keep=["o0"]),
    "tuple: candidates as rows": _case(Candidates, 1, keep=["o0", "o1"], rows=["o0", "o1"]),
}
