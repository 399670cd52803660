"""How far a deployment and PyTorch are apart on whole images: the basis of the pipeline gates.

Every shipped validation image, and every third one again at another scale, goes through the pipeline comparison of
the deployments of three shipped configs. The gates in pipeline/parity/gates.py stand above the largest figures.

    python benchmarks/pipeline_gates.py work_dirs --page docs/measured/pipeline_gates.md
"""

import argparse
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

import cv2
import numpy as np
from measured import machine, write_page
from numpy.typing import NDArray

from backends import load
from pipeline.inputs.named_input import NamedInput, read_input
from pipeline.job.job import Job, plan_job
from pipeline.parity.pipeline_parity import pipeline_case
from pipeline.parity.reference_result import reference_result
from zoo import build_model
from zoo.comparison import Figure, Findings
from zoo.families import family_of
from zoo.input_kinds import input_kind
from zoo.tasks.detection import DetectionResult
from zoo.tasks.detection.proof import DetectionProof
from zoo.tasks.detection.proof.detection_proof import EXPLAINED
from zoo.tasks.detection.proof.matching import pair_detections
from zoo.tasks.proof import proof_of

MEASURED = (
    "configs/detection/faster-rcnn_r18-fpn_digits.py",
    "configs/segmentation/fcn_r18-slide_digits.py",
    "configs/segmentation/fcn_r18_digits.py",
)
VAL = ROOT / "zoo/data/digits/val/images"
COMMAND = "benchmarks/pipeline_gates.py work_dirs"


HEAD = "| model | figure | values | largest | 99.5 % within | median | gate |\n|---|---|---|---|---|---|---|"


@dataclass(frozen=True)
class Row:
    """The errors of one figure, and the gate that each of them is held to."""

    name: str
    errors: NDArray[np.float64]
    gate: float | None

    def words(self, model: str) -> str:
        """A row of the table."""
        errors, gate = self.errors, "" if self.gate is None else f"{self.gate:g}"
        largest, most, median = errors.max(), np.quantile(errors, 0.995), np.median(errors)
        return f"| {model} | {self.name} | {errors.size} | {largest:.3g} | {most:.3g} | {median:.3g} | {gate} |"


def main() -> int:
    """Print and write the table; 3 where a gate is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work_dir", type=Path, help="where `make demo` left the deployments")
    parser.add_argument("--configs", nargs="+", default=list(MEASURED), help="of which the deployments are there")
    parser.add_argument("--page", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    sample_images = list(_sample_images())
    lines, notes, missed = [HEAD], [], 0
    for path in args.configs:
        job = plan_job(path, None, (), args.work_dir)
        found, pairs = _compare(job, path, sample_images)
        lines += [row.words(job.name) for row in _rows(found, pairs, job.gates["pipeline"])]
        failures = [failure for findings in found for failure in findings.failures]
        notes.append(f"- {job.name}: {_counts(found)}, {len(failures)} failures")
        notes += [f"    - {failure}" for failure in failures]
        missed += len(failures)
    table = "\n".join([*lines, "", *notes])
    print(table)
    if args.page:
        intro = (
            f"The pipeline comparison of {len(sample_images)} images with the deployments of three shipped models. A "
            "value is the largest error in one image, or of one pair of detections, explained ones included.\n\n"
            + machine("torch", "onnxruntime", "opencv-python")
        )
        write_page(args.page, "The basis of the pipeline gates", intro, COMMAND, table)
    return 3 if missed else 0


def _compare(job: Job, path: str, sample_images: Sequence[NamedInput]) -> tuple[list[Findings], NDArray[np.float64]]:
    """The findings for each image, and the error of each pair of detections: [n, 2], of its box and its score."""
    model = build_model(path)
    rule, proof = family_of(model).decision_rule(model), proof_of(job.task)
    found, pairs = [], [np.empty((0, 2))]
    with load(job.place) as deployment:
        for sample_image in sample_images:
            reference = reference_result(model, job.task, job.preprocess, job.forward, sample_image.value)
            case, result = pipeline_case(deployment, sample_image, reference, job.gates, rule)
            found.append(case.findings)
            if isinstance(proof, DetectionProof) and result is not None:
                ours, theirs = (proof.in_tensor(side, reference.placed) for side in (reference.result, result))
                pairs.append(_pair_errors(ours, theirs, job.gates["pipeline"]))
    return found, np.concatenate(pairs)


def _pair_errors(
    reference: DetectionResult, candidate: DetectionResult, gates: Mapping[str, float]
) -> NDArray[np.float64]:
    rows, columns = np.array(pair_detections(reference, candidate, gates), dtype=np.intp).reshape(-1, 2).T
    boxes = np.abs(reference.boxes[rows] - candidate.boxes[columns]).max(axis=1, initial=0.0)
    return np.stack((boxes, np.abs(reference.scores[rows] - candidate.scores[columns])), axis=1, dtype=np.float64)


def _rows(found: Sequence[Findings], pairs: NDArray[np.float64], gates: Mapping[str, float]) -> list[Row]:
    by_name: dict[str, list[Figure]] = {}
    for figure in (figure for findings in found for figure in findings.figures):
        by_name.setdefault(figure.name, []).append(figure)
    rows = []
    for name, figures in by_name.items():
        if len(pairs) and name.endswith("end to end"):
            continue  # reported by pair below, explained ones included
        errors = np.array([figure.max_error for figure in figures], dtype=np.float64)
        unit = f", {figures[0].unit}" if figures[0].unit else ""
        rows.append(Row(f"{name}{unit}; images", errors, figures[0].gate))
    if len(pairs):
        rows.append(Row("boxes, end to end, px; pairs", pairs[:, 0], gates["boxes"]))
        rows.append(Row("scores, end to end; pairs", pairs[:, 1], gates["scores"]))
    return rows


def _counts(found: Sequence[Findings]) -> str:
    """How many differences there were, by what became of them."""
    relabelled = [f for findings in found for f in findings.figures if f.name == "relabelled, end to end"]
    if relabelled:
        pixels = sum(round((figure.max_error or 0.0) * figure.count) for figure in relabelled)
        return f"{pixels} of {sum(figure.count for figure in relabelled)} pixels relabelled end to end"
    explained = [sum(entry.reason == EXPLAINED for entry in findings.borderline) for findings in found]
    borderline = sum(len(findings.borderline) for findings in found)
    return (
        f"{sum(findings.matched for findings in found)} detections matched end to end, {sum(explained)} explained "
        f"(at most {max(explained)} in an image), {borderline - sum(explained)} on a threshold of the model"
    )


def _sample_images() -> Iterator[NamedInput]:
    """All of val, and every third one scaled by 0.6 to 2.6."""
    generator = np.random.default_rng(0)
    for number, path in enumerate(sorted(VAL.glob("*.jpg"))):
        image = read_input(input_kind("image"), path)
        yield image
        if number % 3 == 0:
            scale = generator.uniform(0.6, 2.6)
            height, width = (int(side * scale) for side in image.value.shape[:2])
            pixels = cv2.resize(image.value, (width, height), interpolation=cv2.INTER_CUBIC)
            yield NamedInput(f"{image.name}, scaled", np.asarray(pixels, dtype=np.uint8))


if __name__ == "__main__":
    sys.exit(main())
