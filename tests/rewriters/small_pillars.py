"""Small detectors on pillars with random weights that find things, and clouds for them."""

import copy
import functools
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import torch
from torch import Tensor, nn

from backends.voxeliser import voxelised
from rewriters import ExportRecord, export_onnx
from zoo import Target
from zoo.families import family_of
from zoo.models.pillars import CenterPoint, PointPillars
from zoo.models.pillars.on_host import pillars_on_host
from zoo.pillars import AXIS, LEVEL
from zoo.random_weights import learn_statistics
from zoo.target import AxisRange
from zoo.tasks.contract import Contract
from zoo.tensor_spec import TensorSpec

SLOTS, CLASSES = 12, 3
SLOTS_OF_TESTS = 128  # of a pillar: more than any of these clouds fills
RANGE = (0.0, -5.12, -2.0, 10.24, 5.12, 2.0)
SMALL: dict[str, Any] = {
    "num_classes": CLASSES,
    "point_range": RANGE,
    "pillar_size": 0.64,
    "pillar_channels": 8,
    "channels": (8, 8),
    "depths": (1, 1),
    "strides": (2, 2),
    "up_channels": (8, 8),
    "score_thresh": 0.5,
    "topk_candidates": 30,
    "detections_per_img": SLOTS,
}
ANCHORS = [
    {"size": (3.0, 1.6, 1.5), "z": -0.5, "matched": 0.5, "unmatched": 0.35},
    {"size": (0.8, 0.6, 1.7), "z": -0.4, "matched": 0.3, "unmatched": 0.2},
    {"size": (1.8, 0.6, 1.7), "z": -0.4, "matched": 0.3, "unmatched": 0.2},
]
NAMES = ("PointPillars", "CenterPoint")


def small_pillars(name: str, seed: int = 0, **options: Any) -> Any:
    """PointPillars or CenterPoint, in eval mode; the caller's own."""
    model = copy.deepcopy(_built(name, seed))
    for option, value in options.items():
        setattr(model, option, value)
    return model


@functools.cache
def _built(name: str, seed: int) -> Any:
    torch.manual_seed(seed)
    model: Any
    if name == "PointPillars":
        model = PointPillars(anchors=ANCHORS, nms_thresh=0.05, **SMALL)
    else:
        model = CenterPoint(head_channels=8, nms_thresh=0.05, **SMALL)
    return find_things(model, random_clouds(4, 300, seed))


def find_things(model: Any, clouds: list[Tensor]) -> Any:
    """The model, in eval mode, with batch norms that know the clouds, and scores that spread around 0.5."""
    if isinstance(model, PointPillars):
        spreads = [(model.head.classes, 0.5), (model.head.boxes, 0.1), (model.head.directions, 0.5)]
    else:
        spreads = [(branch[1], 0.2) for branch in model.head.branches]
        spreads[3] = (model.head.branches[3][1], 0.05)  # logarithms of sizes
    learn_statistics(model, lambda: model(clouds))
    for layer, std in spreads:
        nn.init.normal_(layer.weight, std=std)
        nn.init.zeros_(layer.bias)
    return model.eval()


def random_clouds(batch: int, count: int, seed: int = 0) -> list[Tensor]:
    """batch x float32 [count, 4]: a third in clusters, some outside of the grid, none near a pillar's edge."""
    random = np.random.default_rng(seed)
    low, high = np.array([-1.0, -6.0, -2.5, 0.0]), np.array([11.0, 6.0, 2.5, 1.0])
    points = random.uniform(low, high, (batch, count, 4))
    points[:, : count // 3, :2] = points[:, :1, :2] + random.normal(0, 0.5, (batch, count // 3, 2))
    side = SMALL["pillar_size"]
    cells = np.floor(points[..., :2] / side)
    points[..., :2] = (cells + 0.01 + 0.98 * (points[..., :2] / side - cells)) * side
    return list(torch.from_numpy(points.astype(np.float32)))


def padded(clouds: list[Tensor], count: int, fill: float = 0.0) -> dict[str, Tensor]:
    """The graph's inputs."""
    points = torch.full((len(clouds), count, 4), fill)
    for slot, cloud in zip(points, clouds, strict=True):
        slot[: len(cloud)] = cloud
    return {"points": points, "num_points": torch.tensor([len(cloud) for cloud in clouds])}


def in_pillars(model: Any, inputs: dict[str, Tensor], slots: int | None = None) -> dict[str, Tensor]:
    """What the host makes of them, with as many slots as the fullest pillar needs unless `slots` says otherwise."""
    points, ends = inputs["points"].numpy(), inputs["num_points"].numpy()
    clouds = [cloud[:end] for cloud, end in zip(points, ends, strict=True)]
    form = pillars_on_host(model.encoder.grid, {"slots": slots or SLOTS_OF_TESTS}, clouds, 4096)
    made = voxelised(points, ends, form)
    assert slots is not None or not made.cut
    return {name: torch.from_numpy(array) for name, array in made.arrays.items()}


def pillars_contract(model: nn.Module, level: str = "final") -> Contract:
    return family_of(model).contracts["detection3d", level](model, {})


def export_pillars(
    path: Path, model: nn.Module, exporter: str, backend: str, level: str = "final", opset: int = 20
) -> ExportRecord:
    """With a dynamic batch and a dynamic count."""
    axes = {"batch": AxisRange(1, 2, 4), "count": AxisRange(1, 200, 4096)}
    if level == LEVEL:
        axes = {"batch": AxisRange(1, 2, 4), AXIS: AxisRange(1, 100, 256)}
    target = Target(axes, exporter=exporter, backend=backend, opset=opset, level=level)  # type: ignore[arg-type]
    contract = pillars_contract(model, level)
    example = padded(random_clouds(2, 200, 1), 200)
    if level == LEVEL:
        example = in_pillars(model, example)
    with torch.no_grad():
        shapes = [tuple(tensor.shape) for tensor in contract(*example.values())]
    finals, decoded = ("num_dets", "boxes", "scores", "labels"), ("boxes", "scores")
    names = finals if level in ("final", LEVEL) else contract.raw_names or decoded
    specs = [
        TensorSpec(name, "int64" if name in ("num_dets", "labels") else "float32", ("N", *shape[1:]))
        for name, shape in zip(names, shapes, strict=True)
    ]
    return export_onnx(contract, target, path, example=example, output_specs=specs)


def run_pillars(session: ort.InferenceSession, inputs: dict[str, Tensor]) -> list[np.ndarray]:
    outputs: list[np.ndarray] = session.run(None, {name: tensor.numpy() for name, tensor in inputs.items()})
    return outputs
