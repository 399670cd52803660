"""The losses of a RotatedFCOS.

Sources: focal loss (Lin et al., 2017) of classes, binary cross-entropy of centerness (Tian et al., 2019), and of boxes
the Kullback-Leibler divergence of the Gaussians that they stand for (Yang et al., Learning High-Precision Bounding Box
for Rotated Object Detection via Kullback-Leibler Divergence, NeurIPS 2021). A Gaussian is the same in whatever numbers
its rectangle is written, so that no angle is wrong by half a turn.
"""

from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor
from torchvision.ops import sigmoid_focal_loss

from zoo.models.detection.rotated_fcos.head import decode
from zoo.models.detection.rotated_fcos.targets import Targets, centerness

LEAST_SIDE = 1e-3  # pixels, of a Gaussian


def rotated_fcos_losses(
    head: Mapping[str, Tensor],
    centers: Tensor,
    strides: Tensor,
    targets: Sequence[Mapping[str, Tensor]],
    chosen: Sequence[Targets],
) -> dict[str, Tensor]:
    """Of a batch: the head's tensors [N, M, ...] of all levels, centres [M, 2] and strides [M] of places, N x {"boxes"
    [n, 5], "labels" [n]}, and what each place learns -> {"loss_class", "loss_box", "loss_centerness"}, scalars.
    """
    index = torch.stack([targets_of_image.objects for targets_of_image in chosen])  # [N, M]
    image, place = (index >= 0).nonzero(as_tuple=True)
    objects = index[image, place]
    wanted = torch.zeros_like(head["cls_logits"])
    count = max(1, len(image))
    firsts = torch.tensor([0, *(len(target["labels"]) for target in targets)]).cumsum(0)[:-1]
    rows = firsts.to(objects.device)[image] + objects
    labels = torch.cat([target["labels"] for target in targets])[rows]
    boxes = torch.cat([target["boxes"] for target in targets])[rows]
    wanted[image, place, labels] = 1.0
    near = centerness(torch.stack([targets_of_image.sides for targets_of_image in chosen])[image, place])
    distances = head["distances"][image, place] * strides[place, None]
    predicted = decode(distances, head["angles"][image, place], centers[place])
    box_loss = (gaussian_distance(predicted, boxes) * near).sum() / near.sum().clamp(min=1e-6)
    logits = head["centerness"][image, place, 0]
    center_loss = F.binary_cross_entropy_with_logits(logits, near, reduction="sum") / count
    class_loss = sigmoid_focal_loss(head["cls_logits"], wanted, reduction="sum") / count
    return {"loss_class": class_loss, "loss_box": box_loss, "loss_centerness": center_loss}


def gaussian_distance(boxes: Tensor, targets: Tensor) -> Tensor:
    """Boxes [n, 5] and [n, 5] -> [n], from 0 for the same rectangles to 1.

    1 - 1 / (1 + log(1 + d)) of the divergence d of the target's Gaussian from the box's: mean at the centre, standard
    deviations of half the sides.
    """
    mean, (a, b, c) = boxes[:, :2], _covariance(boxes)
    target_mean, (target_a, target_b, target_c) = targets[:, :2], _covariance(targets)
    determinant, target_determinant = a * c - b * b, target_a * target_c - target_b * target_b
    x, y = (mean - target_mean).unbind(dim=1)
    # the target's inverse covariance is (c, -b, a) / determinant
    apart = (target_c * x * x - 2 * target_b * x * y + target_a * y * y) / target_determinant
    trace = (target_c * a - 2 * target_b * b + target_a * c) / target_determinant
    divergence = 0.5 * (apart + trace + torch.log(target_determinant / determinant)) - 1
    return 1 - 1 / (1 + torch.log1p(divergence.clamp(min=0)))


def _covariance(boxes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """[n, 5] -> the entries a, b, c of the covariances [[a, b], [b, c]], each [n]."""
    cosine, sine = torch.cos(boxes[:, 4]), torch.sin(boxes[:, 4])
    along, down = ((boxes[:, side].clamp(min=LEAST_SIDE) / 2) ** 2 for side in (2, 3))
    return (
        along * cosine**2 + down * sine**2,
        (along - down) * cosine * sine,
        along * sine**2 + down * cosine**2,
    )
