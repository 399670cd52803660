"""Detectors of point clouds with their shipped weights: unpatched eager against deployments, on synthetic streets.

Every scene of the gate split goes alone through the unpatched model and through a deployment of each exporter and
backend, whose boxes are matched one to one by label, score and place. The same results give the metric of both. Then
the scenes go through in batches of 2 to 4, with their points in another order, and with the batch's padding.

    python benchmarks/pillars_parity.py --page docs/measured/pillars_parity.md
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

import numpy as np
import torch
from measured import machine, write_page

from pipeline.deploying import deploy
from pipeline.job.deploy_target import deploy_target
from zoo import build_model
from zoo.config import load_config
from zoo.datasets import Streets, config_dataset
from zoo.geometry import wrapped_angle
from zoo.metrics import build_metric
from zoo.tasks.detection3d import Detection3DResult

CONFIGS = sorted((ROOT / "configs" / "detection3d").glob("*_streets.py"))
CELLS = tuple((exporter, backend) for exporter in ("dynamo", "torchscript") for backend in ("onnxruntime", "openvino"))
BOXES, SCORES = 1e-4, 1e-5  # metres and radians; probabilities
NEAR = 0.01  # metres: further apart, two boxes are not one
BATCHES = (2, 3, 4)


@dataclass
class Differences:
    """The largest of each, how many pairs are above a limit, and how many of either side have no partner."""

    boxes: float = 0.0
    yaw: float = 0.0
    scores: float = 0.0
    compared: int = 0
    alone: int = 0
    above: int = 0

    def add(self, expected: Any, actual: Any) -> None:
        """One cloud's detections, matched by label and the nearest centre."""
        left = list(range(len(actual.scores)))
        for box, score, label in zip(expected.boxes, expected.scores, expected.labels, strict=True):
            far = {at: np.abs(actual.boxes[at, :3] - box[:3]).max() for at in left if actual.labels[at] == label}
            at = min(far, key=lambda at: (far[at], abs(actual.scores[at] - score)), default=None)
            if at is None or far[at] > NEAR:
                self.alone += 1
                continue
            left.remove(at)
            self.compared += 1
            boxes = float(np.abs(actual.boxes[at, :6] - box[:6]).max())
            yaw, scores = abs(float(wrapped_angle(actual.boxes[at, 6] - box[6]))), abs(float(actual.scores[at] - score))
            self.above += max(boxes, yaw) > BOXES or scores > SCORES
            self.boxes, self.yaw, self.scores = max(self.boxes, boxes), max(self.yaw, yaw), max(self.scores, scores)
        self.alone += len(left)

    @property
    def held(self) -> bool:
        """Whether every detection has a partner within the limits."""
        return bool(self.compared) and not (self.alone or self.above)

    def cells(self) -> str:
        """As cells of the table."""
        return f"{self.compared} | {self.alone} | {self.above} | {self.boxes:.1e} | {self.yaw:.1e} | {self.scores:.1e}"


def main() -> None:
    """Print the table, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("configs", nargs="*", type=Path, default=CONFIGS)
    parser.add_argument("--scenes", type=int, help="default: all 512 of the gate split")
    parser.add_argument("--page", type=Path)
    args = parser.parse_args()
    lines = [
        (
            "| model | exporter | backend | given | boxes | no partner | above limits | place m | yaw rad | score "
            "| metric | eager | |"
        ),
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for config in args.configs:
        for line in _rows(config, args.scenes):
            lines.append(line)
            print(line, flush=True)
    intro = (
        "Shipped weights; the unpatched model in eager PyTorch, which gets each scene by itself, beside deployments "
        f"in fp32. `no partner`: detections of either side without one of the same label within {NEAR} m on the other. "
        "`above limits`: pairs of detections, of which the largest differences follow. "
        f"Limits: {BOXES} m and rad, {SCORES} of a score, nothing without a partner, the same metric to two decimals. "
        "The metric is KITTI's AP R40 in 3D, moderate, mean of the classes, on scenes of a simulated LiDAR; it says "
        "nothing of a real street. `shuffled`: the points of each scene in another order. `batches`: "
        f"{', '.join(map(str, BATCHES))} scenes at once, each filled up to the largest. An empty cloud gives no "
        "detection everywhere. `float64`: the same eager model in twice the precision, so the row says how far eager "
        f"itself is from the exact numbers.\n\n{machine('torch', 'onnxruntime', 'openvino')}"
    )
    if args.page:
        write_page(args.page, "Parity of detectors on pillars", intro, "benchmarks/pillars_parity.py", "\n".join(lines))


def _rows(path: Path, scenes: int | None) -> Any:
    config = load_config(path)
    Streets.prepare(config.gate_dataset or {})
    dataset = config_dataset(config, "gate_dataset")
    items = [dataset[number] for number in range(min(scenes or len(dataset), len(dataset)))]
    clouds = [item["points"] for item in items]
    model = build_model(config).eval()
    with torch.no_grad():
        expected = [_of_model(model, cloud) for cloud in clouds]
    eager = _metric(config, items, expected)

    def row(exporter: str, backend: str, given: str, results: Sequence[Detection3DResult]) -> str:
        differences = Differences()
        for want, got in zip(expected, results, strict=True):
            differences.add(want, got)
        figure = _metric(config, items, results)
        held = differences.held and round(figure, 2) == round(eager, 2)
        return (
            f"| {path.stem} | {exporter} | {backend} | {given} | {differences.cells()} | {figure:.2f} | {eager:.2f} "
            f"| {'held' if held else 'missed'} |"
        )

    with torch.no_grad():
        model.double()
        yield row(
            "-", "PyTorch, float64", "one scene", [_of_model(model, cloud.astype(np.float64)) for cloud in clouds]
        )
    empty = np.zeros((0, 4), np.float32)
    for exporter, backend in CELLS:
        target = deploy_target(config, exporter=exporter, backend=backend)
        with tempfile.TemporaryDirectory() as folder, deploy(config, target, work_dir=folder) as deployment:
            (nothing,) = deployment([empty])
            if cast(Detection3DResult, nothing).boxes.size:
                raise SystemExit(f"{path}, {exporter}, {backend}: detections in a cloud without points")
            actual = [deployment(cloud) for cloud in clouds]
            given = {"one scene": actual}
            random = np.random.default_rng(0)
            given["shuffled"] = [deployment(random.permutation(cloud)) for cloud in clouds]
            given["batches"] = list(_batched(deployment, clouds))
        for name, results in given.items():
            yield row(exporter, backend, name, results)


def _batched(deployment: Any, clouds: Sequence[Any]) -> Any:
    at, turn = 0, 0
    while at < len(clouds):
        size = BATCHES[turn % len(BATCHES)]
        yield from deployment(list(clouds[at : at + size]))
        at, turn = at + size, turn + 1


def _of_model(model: Any, cloud: Any) -> Detection3DResult:
    (detections,) = model([torch.from_numpy(cloud)])
    return Detection3DResult(*(detections[name].numpy() for name in ("boxes", "scores", "labels")))


def _metric(config: Any, items: Sequence[Any], results: Sequence[Any]) -> float:
    metric = build_metric(config.evaluator)
    metric.process(items, results)
    return float(metric.evaluate(len(items))[metric.main_key])


if __name__ == "__main__":
    main()
