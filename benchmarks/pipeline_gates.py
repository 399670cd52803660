"""How far a deployment and PyTorch are apart on whole pictures: the basis of the pipeline gates.

Every shipped validation picture, and every third one again at another scale, goes through the pipeline comparison of
each shipped config's deployment. The gates in pipeline/parity/gates.py stand a little above the largest figures.

    python benchmarks/pipeline_gates.py work_dirs --page docs/measured/pipeline_gates.md
"""

import argparse
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

import cv2
import numpy as np
from measured import machine, write_page

from backends import load
from pipeline.images import NamedImage, read_image
from pipeline.job import plan_job
from pipeline.parity.decision_rule import decision_rule
from pipeline.parity.pipeline_parity import pipeline_case
from pipeline.parity.records import Findings
from pipeline.parity.reference_result import reference_result
from zoo import build_model, list_models

VAL = ROOT / "zoo/data/digits/val/images"


def main() -> int:
    """Print and write the table; 3 where a gate is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work_dir", type=Path, help="where `make demo` left the deployments")
    parser.add_argument("--page", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    pictures = list(_pictures())
    lines = ["| model | figure | largest | 99 % below | median | gate |", "|---|---|---|---|---|---|"]
    notes, missed = [], 0
    for path in list_models(ROOT / "configs"):
        job = plan_job(path, None, (), args.work_dir)
        model = build_model(path)
        rule = decision_rule(model)
        found: list[Findings] = []
        with load(job.place) as deployment:
            for picture in pictures:
                reference = reference_result(model, job.task, job.preprocess, job.forward, picture.pixels)
                found.append(pipeline_case(deployment, picture, reference, job.gates["pipeline"], rule)[0].findings)
        for name in dict.fromkeys(figure.name for findings in found for figure in findings.figures):
            figures = [figure for findings in found for figure in findings.figures if figure.name == name]
            errors = np.array([figure.max_error for figure in figures], dtype=np.float64)
            gate = figures[0].gate
            lines.append(
                f"| {job.name} | {name} {figures[0].unit} | {errors.max():.3g} | {np.quantile(errors, 0.99):.3g} | "
                f"{np.median(errors):.3g} | {gate if gate is not None else ''} |"
            )
        borderline = [entry.reason for findings in found for entry in findings.borderline]
        failed = sum(len(findings.failures) for findings in found)
        missed += failed
        notes.append(
            f"{job.name}: {sum(findings.matched for findings in found)} matched, {len(borderline)} borderline, "
            f"{failed} failed"
        )
    table = "\n".join([*lines, "", *(f"- {note}" for note in notes)])
    print(table)
    if args.page:
        intro = f"A figure is the largest error in one picture; {len(pictures)} pictures.\n\n" + machine(
            "torch", "onnxruntime", "opencv-python"
        )
        write_page(args.page, "The basis of the pipeline gates", intro, "benchmarks/pipeline_gates.py work_dirs", table)
    return 3 if missed else 0


def _pictures() -> Iterator[NamedImage]:
    """All of val, and every third one scaled by 0.6 to 2.6."""
    generator = np.random.default_rng(0)
    for number, path in enumerate(sorted(VAL.glob("*.jpg"))):
        image = read_image(path)
        yield image
        if number % 3 == 0:
            scale = generator.uniform(0.6, 2.6)
            height, width = (int(side * scale) for side in image.pixels.shape[:2])
            pixels = cv2.resize(image.pixels, (width, height), interpolation=cv2.INTER_CUBIC)
            yield NamedImage(f"{image.name}, scaled", np.asarray(pixels, dtype=np.uint8))


if __name__ == "__main__":
    sys.exit(main())
