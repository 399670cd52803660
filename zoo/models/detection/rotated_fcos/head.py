"""The head: what each place of a pyramid level says of the object around it, and the box that it stands for."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

NAMES = ("cls_logits", "distances", "angles", "centerness")
PRIOR = 0.01  # the score of a fresh head, as RetinaNet begins


class RotatedFCOSHead(nn.Module):
    """Feature maps [N, C_in, h, w] by level -> {name: [N, A, ...] by level}, A the places of a level, columns fastest.

    "cls_logits" [N, A, C]; "distances" [N, A, 4], from the place to the left, top, right and bottom side in the box's
    own frame, in strides; "angles" [N, A, 1] in radians; "centerness" [N, A, 1], a logit.
    """

    def __init__(self, channels: int, num_classes: int, levels: int, convs: int, groups: int) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.cls_tower, self.box_tower = (_tower(channels, convs, groups) for _ in range(2))
        self.cls_logits = nn.Conv2d(channels, num_classes, 3, padding=1)
        self.distances = nn.Conv2d(channels, 4, 3, padding=1)
        self.angles = nn.Conv2d(channels, 1, 3, padding=1)
        self.centerness = nn.Conv2d(channels, 1, 3, padding=1)
        self.scales = nn.Parameter(torch.ones(levels))  # of the distances, a factor for each level
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.normal_(layer.weight, std=0.01)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)
        nn.init.constant_(self.cls_logits.bias, -math.log((1 - PRIOR) / PRIOR))  # type: ignore[arg-type]
        nn.init.ones_(self.distances.bias)  # type: ignore[arg-type]  # a ReLU follows

    def forward(self, features: Sequence[Tensor]) -> dict[str, list[Tensor]]:
        parts: dict[str, list[Tensor]] = {name: [] for name in NAMES}
        for level, feature in enumerate(features):
            of_class, of_box = self.cls_tower(feature), self.box_tower(feature)
            parts["cls_logits"].append(_places(self.cls_logits(of_class)))
            parts["distances"].append(_places(torch.relu(self.distances(of_box) * self.scales[level])))
            parts["angles"].append(_places(self.angles(of_box)))
            parts["centerness"].append(_places(self.centerness(of_box)))
        return parts


def _tower(channels: int, convs: int, groups: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for _ in range(convs):
        layers += [nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.GroupNorm(groups, channels), nn.ReLU()]
    return nn.Sequential(*layers)


def _places(level: Tensor) -> Tensor:
    """[N, D, h, w] -> [N, h * w, D]."""
    return level.flatten(2).transpose(1, 2)


def places(features: Sequence[Tensor], strides: Sequence[int]) -> list[Tensor]:
    """The centre (x, y) in pixels of the image of each place of each level: float32 [h * w, 2]."""
    centers = []
    for feature, stride in zip(features, strides, strict=True):
        rows = torch.arange(feature.shape[-2], dtype=feature.dtype, device=feature.device)
        columns = torch.arange(feature.shape[-1], dtype=feature.dtype, device=feature.device)
        y, x = torch.meshgrid(rows, columns, indexing="ij")
        centers.append((torch.stack((x, y), dim=-1).flatten(0, 1) + 0.5) * stride)
    return centers


def decode(distances: Tensor, angles: Tensor, centers: Tensor) -> Tensor:
    """Distances [..., A, 4] in pixels, angles [..., A, 1], centres of places [A, 2] -> boxes x y w h angle [..., A, 5].

    Source: mmrotate's DistanceAnglePointCoder.
    """
    left_top, right_bottom = distances[..., :2], distances[..., 2:]
    across, down = torch.split((right_bottom - left_top) / 2, 1, dim=-1)
    cosine, sine = torch.cos(angles), torch.sin(angles)
    step = torch.cat((across * cosine - down * sine, across * sine + down * cosine), dim=-1)
    return torch.cat((centers + step, left_top + right_bottom, angles), dim=-1)
