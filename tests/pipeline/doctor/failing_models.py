"""A minimal model for each known way in which an export fails or is silently wrong."""

import functools
import warnings
from typing import Any

import torch
import torch.nn.functional as F
import torchvision
from torch import Tensor, nn


class Good(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x) + 1


class Branch(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            return x + 1
        return x - 1


class BranchOfMax(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.max() > 0:
            return x + 1
        return x - 1


class WhileOfMax(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        while x.abs().max() < 0.5:
            x = x * 2 + 1e-3
        return x


class EarlyReturn(nn.Module):
    """The example has nothing above the threshold."""

    def forward(self, x: Tensor) -> Tensor:
        found = x[x > 2]
        if found.numel() == 0:
            return torch.zeros(1)
        return found.sum()[None]


class SizeBranch(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.shape[2] > 20:
            return x * 2
        return x


class FarBranch(nn.Module):
    """No trial's mean is above the threshold."""

    def forward(self, x: Tensor) -> Tensor:
        y = x.mean()
        if y > 1000:
            y = y / 255
        return x + y


class FarSize(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.shape[2] > 1000:
            return x * 2
        return x


class FewFound(nn.Module):
    """All trials find some, and their number decides."""

    def forward(self, x: Tensor) -> Tensor:
        found = x[x > -1000]
        if found.numel() == 0:
            return torch.zeros(1)
        return found.sum()[None]


class Turns(nn.Module):
    """A number of turns, without axes."""

    def forward(self, n: Tensor) -> Tensor:
        x = torch.ones(2)
        for _ in range(int(n)):
            x = x * 2
        return x + n


class Windows(nn.Module):
    """A loop over a grid that depends on the height, with slice assignment."""

    def forward(self, x: Tensor) -> Tensor:
        total = torch.zeros_like(x)
        for top in range(0, x.shape[2], 4):
            total[:, :, top : top + 4] += x[:, :, top : top + 4].relu()
        return total


class EachImage(nn.Module):
    """As torchvision's detectors do: a batch is a list of images."""

    def forward(self, images: Tensor) -> Tensor:
        return torch.stack([image / image.amax() for image in images])


class IntSize(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return F.interpolate(x[:, :, ::2, ::2], size=tuple(int(side) for side in x.shape[2:]))


class Item(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + x.max().item()


class Stride(nn.Module):
    """A stride is a Python number to torchscript, and it warns of nothing."""

    def forward(self, x: Tensor) -> Tensor:
        return x * x.stride(2)


class Linspace(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + torch.linspace(0, x.max().item(), x.shape[3])


class TensorOfSize(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x / torch.tensor([x.shape[2], x.shape[3]]).sum()


class TopK(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        flat = x.flatten(1)
        return flat.topk(min(2000, flat.shape[1])).values


class Numpy(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + torch.from_numpy(x.numpy().copy())


class Asinh(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.asinh(x)


class Antialias(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return F.interpolate(x, size=(7, 9), mode="bilinear", antialias=True)


class AdaptivePool(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(x, 5)


class StableSort(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.sort(x, stable=True).values


class DeformConv(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        offset = torch.zeros(x.shape[0], 18, x.shape[2], x.shape[3])
        return torchvision.ops.deform_conv2d(x, offset, torch.ones(3, 3, 3, 3), padding=1)


class PsRoiAlign(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        boxes = x[:, :1, 0, :4].flatten(1).sigmoid() + torch.tensor([0.0, 0.0, 4.0, 4.0])
        return torchvision.ops.ps_roi_align(torch.cat([x, x[:, :1]], 1), F.pad(boxes, (1, 0)), 2)


class RoiPool(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        boxes = x[:, :1, 0, :4].flatten(1) + torch.tensor([0.0, 0.0, 4.0, 4.0])
        return torchvision.ops.roi_pool(x, F.pad(boxes, (1, 0)), 2)


class Grid5D(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return F.grid_sample(x[:, :, None], torch.zeros(x.shape[0], 1, 2, 2, 3), align_corners=False)


class BatchedNms(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        boxes = x[0, 0, :, :4]
        boxes = torch.cat([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]], dim=1)
        return torchvision.ops.batched_nms(boxes, boxes[:, 0], torch.zeros(len(boxes), dtype=torch.int64), 0.5)


class Levels(nn.Module):
    """RoIAlign from four levels, which torchvision merges by scattering."""

    def __init__(self) -> None:
        super().__init__()
        self.pool = torchvision.ops.MultiScaleRoIAlign(["0", "1", "2", "3"], output_size=2, sampling_ratio=2)

    def forward(self, x: Tensor) -> Tensor:
        levels = {str(level): F.avg_pool2d(x, 2**level) for level in range(4)}
        corners = x[0, 0, :, :2] * 4
        boxes = torch.cat([corners, corners + x[0, 0, :, 2:4] * 500], dim=1)
        result: Tensor = self.pool(levels, [boxes] * x.shape[0], [(400, 600)] * x.shape[0])
        return result


class Double(nn.Module):
    """ONNX Runtime has no kernel of Erf for float64."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.erf(x.double())


class Ties(nn.Module):
    """Saturated scores: many are the same."""

    def forward(self, x: Tensor) -> Tensor:
        return (x * 10).clamp(max=1).flatten(1).topk(20).indices


class TiesAtZero(nn.Module):
    """Of the trials, zeros alone have equal scores."""

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(1).sort(descending=True).indices


class FixedAxis(nn.Module):
    """Made for a batch of two."""

    def forward(self, x: Tensor) -> Tensor:
        return x + torch.zeros(2, 1, 1, 1)


class LongRoll(nn.Module):
    """Rolled by more than the axis has."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.roll(x, 30, dims=3)


class NoBoxes(nn.Module):
    """The example has no boxes."""

    def forward(self, x: Tensor) -> Tensor:
        boxes = x[0, 0, :, :4]
        boxes = boxes[boxes[:, 0] > 2]
        return x + torchvision.ops.nms(boxes, boxes[:, 0], 0.5).sum()


class Known(nn.Module):
    """What both exporters know."""

    def forward(self, x: Tensor) -> Tensor:
        corners = x[0, 0, :, :2] * 4
        boxes = torch.cat([corners, corners + x[0, 0, :, 2:4] * 8], dim=1)
        pooled = torchvision.ops.roi_align(x, F.pad(boxes, (1, 0)), 2)
        return pooled + F.grid_sample(pooled, pooled[:, :2].movedim(1, 3), align_corners=False)


class PartialForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.forward = functools.partial(self.scaled, scale=2)  # type: ignore[assignment]

    def scaled(self, x: Tensor, scale: int) -> Tensor:
        return x * scale


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(24, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.attention(*[x.mean(dim=1)] * 3)[0]
        return result


class Deep(nn.Module):
    """The middle one of three is wrong."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.middle, self.last = nn.ReLU(), Item(), nn.Tanh()

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.last(self.middle(self.first(x)))
        return result


class ToBrainFloat(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.to(torch.bfloat16)


class PartlyBrainFloat(Deep):
    """Its first part gives bfloat16, which NumPy does not have."""

    def __init__(self) -> None:
        super().__init__()
        self.first = ToBrainFloat()

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.last(self.middle(self.first(x).float()))
        return result


class Normed(nn.Module):
    """The exporters fold its norm into its convolution; the last part is wrong."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv, self.norm, self.last = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), Item()
        self.norm.running_mean, self.norm.running_var = torch.full((4,), 0.3), torch.full((4,), 2.0)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.last(self.norm(self.conv(x)))
        return result


class Half(nn.Module):
    """Computes in float16, as a model that was trained so."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.Sequential(*(nn.Sequential(nn.Conv2d(3, 3, 3, padding=1), nn.Tanh()) for _ in range(4))).half()

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.layers(x)
        return result


class Ends(nn.Module):
    """Ends the process that exports it."""

    def forward(self, x: Tensor) -> Tensor:
        if torch.onnx.is_in_onnx_export():
            import os

            os._exit(7)
        return x


class Hangs(nn.Module):
    """Takes too long where it is exported."""

    def forward(self, x: Tensor) -> Tensor:
        if torch.onnx.is_in_onnx_export():
            import time

            time.sleep(1000)
        return x


class Compiled(torch.autograd.Function):
    """Its forward works on the bytes themselves, as one that calls C does; torch 2.14 would follow plain numpy."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        content = bytearray(x.numpy().tobytes())
        return 2 * torch.frombuffer(content, dtype=x.dtype).reshape(x.shape)

    @staticmethod
    def symbolic(g: Any, x: Any) -> Any:
        return g.op("Add", x, x)


class SymbolicMethod(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = Compiled.apply(x)
        return result


class ScriptedFunctions(nn.Module):
    """Holds compiled functions."""

    def __init__(self) -> None:
        super().__init__()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # that torch.jit.script is deprecated
            self.function = torch.jit.script(doubled)
        self.functions = {"all": [self.function]}

    def forward(self, images: Tensor) -> Tensor:
        result: Tensor = self.function(images) + self.functions["all"][0](images)
        return result


class ScriptedModule(nn.Module):
    """Holds a compiled module."""

    def __init__(self) -> None:
        super().__init__()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            self.part = torch.jit.script(Good())

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.part(x)
        return result


class GivesSize(nn.Module):
    def forward(self, x: Tensor) -> tuple[int, Tensor]:
        return x.shape[0], x + 1


def doubled(x: Tensor) -> Tensor:
    return x * 2


class Raises(nn.Module):
    """Does not run at all."""

    def forward(self, x: Tensor) -> Tensor:
        return x @ x


class Needs(nn.Module):
    """Cannot be made without an argument."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.channels = channels


class Pillars(nn.Module):
    """As detectors of point clouds do: points in a range, occupied cells, sums over each."""

    def forward(self, x: Tensor) -> Tensor:
        points = x.permute(0, 2, 3, 1).reshape(-1, 3)
        inside = points[points[:, 0] > -1]
        cells = (inside[:, 1] * 4).floor().long()
        pillars, pillar = torch.unique(cells, return_inverse=True)
        sums = torch.zeros(len(pillars), 3).index_add(0, pillar, inside)
        return sums.amax(dim=0)


class CountedRows(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        count = (x[0, 0] > 0).sum()
        return x.flatten()[: int(count)].sum()[None]
