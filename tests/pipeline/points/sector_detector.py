"""A small detector of point clouds that learns nothing: a box in each sector ahead, at the points above the ground."""

import torch
from torch import Tensor, nn

from zoo.registry import MODELS

SECTORS = 6
EDGES = torch.linspace(-0.72, 0.72, SECTORS + 1)  # of y / x


@MODELS.register_module()
class SectorDetector(nn.Module):
    """Clouds, a list of float32 [n, 4] -> a dictionary for each: boxes [6, 7], scores [6], labels [6].

    A box is where the mean of its sector's points is; its label says how many they are.
    """

    detections_per_img = SECTORS

    def __init__(self) -> None:
        super().__init__()
        self.size = nn.Parameter(torch.tensor([3.9, 1.6, 1.5]))

    def forward(self, points: list[Tensor]) -> list[dict[str, Tensor]]:
        return [self.detections(cloud) for cloud in points]

    def detections(self, cloud: Tensor) -> dict[str, Tensor]:
        slope = cloud[:, 1:2] / cloud[:, 0:1].clamp(min=1.0)
        inside = (slope >= EDGES[:-1]) & (slope < EDGES[1:]) & (cloud[:, 2:3] > -1.2)
        weights = inside.to(cloud.dtype)
        count = weights.sum(dim=0)
        total = (weights[:, :, None] * cloud[:, None, :3]).sum(dim=0)
        centre = total / count.clamp(min=1.0)[:, None]
        yaw = torch.atan2(centre[:, 1], centre[:, 0].clamp(min=0.5))[:, None] * 2
        boxes = torch.cat((centre, self.size.expand(SECTORS, 3), yaw), dim=1)
        labels = (count > 300).long() + (count > 600).long()
        return {"boxes": boxes, "scores": count / (count + 200.0), "labels": labels}
