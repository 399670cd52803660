"""What the end-to-end gates judge and what they leave to the rounding of the input: label maps and detections.

Everything is PyTorch's: a deployment that equals the model on its own input is judged as a right one would be, and as
one whose preprocessing resizes or orders otherwise. Images: every eighth one of digits val, each third of them scaled.

    python benchmarks/input_rounding.py --page docs/measured/input_rounding.md
"""

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

import cv2
import numpy as np
import torch
import torch.nn.functional as F
from measured import machine, write_page
from torch import nn

from pipeline.inputs.named_input import NamedInput, read_input
from pipeline.job.job import plan_job
from pipeline.parity.gates import merged_gates
from pipeline.parity.pipeline_parity import end_to_end
from pipeline.parity.reference_result import reference_result
from tests.pipeline.parity.chance_segmentors import CLASSES, chance_segmentor
from zoo import build_model
from zoo.comparison import Findings
from zoo.families import family_of
from zoo.input_kinds import input_kind
from zoo.input_kinds.image.reference_input import reference_input
from zoo.preprocess import Preprocess
from zoo.tasks import Task, build_task
from zoo.tasks.detection.proof.detection_proof import EXPLAINED
from zoo.tasks.semantic_segmentation.proof.label_maps import UNEXPLAINED

VAL = ROOT / "zoo/data/digits/val/images"
SCALES = (0.6, 1.7, 2.3)
SHIPPED = (
    "segmentation/fcn_r18_digits",
    "segmentation/upernet_r18_digits",
    "detection/faster-rcnn_r18-fpn_digits",
    "detection/retinanet_r18-fpn_digits",
    "detection/keypoint-rcnn_r18-fpn_digits",
    "detection/yolov5n_digits",
)
CHANCE = tuple((name, seed) for name in ("unet", "segformer") for seed in range(3))
FIELDS = {"size": (256, 320)}
LABELS = build_task(
    {"type": "SemanticSegmentation", "classes": [{"name": str(n), "category_id": n} for n in range(CLASSES)]}
)
RESIZE = cv2.resize
Resize = Callable[..., Any]


def bilinear(image: Any, size: tuple[int, int]) -> Any:
    """As production does."""
    return RESIZE(image, size, interpolation=cv2.INTER_LINEAR)


def antialiased(image: Any, size: tuple[int, int]) -> Any:
    """As Pillow and torchvision's tensors with antialias=True shrink."""
    pixels = torch.from_numpy(np.ascontiguousarray(image)).permute(2, 0, 1)[None].float()
    resized = F.interpolate(pixels, size=size[::-1], mode="bilinear", antialias=True)[0].round()
    return resized.permute(1, 2, 0).numpy().astype(np.uint8)


def nearest(image: Any, size: tuple[int, int]) -> Any:
    """The nearest pixel."""
    return RESIZE(image, size, interpolation=cv2.INTER_NEAREST)


def swapped(image: Any, size: tuple[int, int]) -> Any:
    """RGB for BGR."""
    return np.ascontiguousarray(bilinear(image, size)[:, :, ::-1])


RULES: Mapping[str, Resize] = {"right": bilinear, "antialias": antialiased, "nearest": nearest, "swapped": swapped}
HEAD = (
    "| model | preprocessing | images that are resized | differing, all | largest in an image | refused, images |\n"
    "|---|---|---|---|---|---|"
)


def main() -> int:
    """Print and write the table; 3 where a right one is refused."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    images = list(_images())
    lines, refused = [HEAD], 0
    for name, model, task, preprocessing, gates in _models(images):
        for rule, resize in RULES.items():
            found = [entry for image in images if (entry := _judged(model, task, preprocessing, gates, image, resize))]
            lines.append(_row(name, rule, found))
            print(lines[-1], flush=True)
            refused += sum(bool(findings.failures) for findings in found) if rule == "right" else 0
    if args.page:
        intro = (
            "The end-to-end comparison alone, with PyTorch in the place of the deployment, given what a right or a "
            "wrong preprocessing makes of an image. The gates on the input, which refuse the wrong ones before this, "
            "are left out. Of a label map: the part of the pixels that change their label, and the largest part that "
            "does so beyond what the rounding of the input explains; the gate is 0.1 %. Of detections: how many "
            "differ, and the most in one image; the gate is twice what the rounding moves in PyTorch, and two. "
            "U-Net and SegFormer have weights by chance, so that borders are everywhere.\n\n"
            + machine("torch", "opencv-python")
        )
        write_page(
            args.page, "What the rounding of an input explains", intro, "benchmarks/input_rounding.py", "\n".join(lines)
        )
    return 3 if refused else 0


def _models(images: list[NamedInput]) -> Iterator[tuple[str, nn.Module, Task, Preprocess, dict[str, float]]]:
    for path in SHIPPED:
        job = plan_job(str(ROOT / "configs" / f"{path}.py"), None, (), "work_dirs")
        yield job.name, build_model(job.config), job.task, job.preprocess, job.gates["pipeline"]
    tensors = torch.cat([reference_input(image.value, FIELDS).tensor for image in images[:8]])
    for name, seed in CHANCE:
        model = chance_segmentor(name, tensors, seed)
        yield f"{name}, seed {seed}", model, LABELS, Preprocess.from_dict(FIELDS), merged_gates()["pipeline"]


def _judged(
    model: nn.Module,
    task: Task,
    rule: Preprocess,
    gates: Mapping[str, float],
    image: NamedInput,
    resize: Resize,
) -> Findings | None:
    """None where the image is not resized, so that nothing is rounded."""

    def instead(pixels: Any, size: tuple[int, int], **_: Any) -> Any:
        return resize(pixels, size)

    cv2.resize = instead  # type: ignore[assignment]
    try:
        forward = {"mode": "tensor"} if hasattr(model, "decode_head") else {}
        reference = reference_result(model, task, rule, forward, image.value)
    finally:
        cv2.resize = RESIZE
    if reference.rounding is None:
        return None
    return end_to_end(
        task, reference, reference.production.result, gates, family_of(model).decision_rule(model), explain=True
    )


def _row(name: str, rule: str, found: list[Findings]) -> str:
    refused = sum(bool(findings.failures) for findings in found)
    parts = [{figure.name: figure for figure in findings.figures} for findings in found]
    if parts and UNEXPLAINED in parts[0]:
        shares = [figures["relabelled"].max_error or 0.0 for figures in parts]
        beyond = [figures[UNEXPLAINED].max_error or 0.0 for figures in parts]
        differing, largest = f"{np.mean(shares):.3%}", f"{max(beyond):.4%}"
    else:
        moved = [_differing(findings) for findings in found]
        detections = sum(findings.matched for findings in found)
        differing, largest = f"{sum(moved)}, {detections} equal", f"{max(moved)}"
    return f"| {name} | {rule} | {len(found)} | {differing} | {largest} | {refused} |"


def _differing(findings: Findings) -> int:
    return findings.differences + sum(entry.reason == EXPLAINED for entry in findings.borderline)


def _images() -> Iterator[NamedInput]:
    for number, path in enumerate(sorted(VAL.glob("*.jpg"))[::8]):
        image = read_input(input_kind("image"), path)
        if number % 3 == 2:
            scale = SCALES[number // 3 % 3]
            pixels = RESIZE(image.value, None, fx=scale, fy=scale, interpolation=cv2.INTER_CUBIC)
            image = NamedInput(f"{image.name}, scaled", np.asarray(pixels, np.uint8))
        yield image


if __name__ == "__main__":
    sys.exit(main())
