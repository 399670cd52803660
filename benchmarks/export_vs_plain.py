"""Our graph in ONNX Runtime against torch's plain export of the same model, and against eager PyTorch.

Plain is what a user gets without zooport: torch.onnx.export(dynamo=False) of the unpatched model, since dynamo refuses
R-CNNs. One shipped image, batch 1, as many threads as the process has cores; runs are interleaved, a ratio is the
median over the rounds. Targets: at most 0.85 of plain for Faster R-CNN and slide inference, nowhere above 1.03 of
plain or of eager. Exit code 3 where one is missed.

    python benchmarks/export_vs_plain.py --rounds 30 --page docs/measured/export_vs_plain.md
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

import numpy as np
import torch
from measured import interleaved, machine, of_one_size, ratio, shipped_configs, write_page
from sessions import PlainDetector, open_session, plain_export, session_run
from torch import Tensor, nn

from pipeline.export.export_step import export_step
from pipeline.export.reference_run import run_reference
from pipeline.job.job import plan_job
from zoo import build_model
from zoo.config import ModelConfig, load_config
from zoo.families import contract_module
from zoo.input_kinds.image.reference_input import reference_input
from zoo.tasks import Task
from zoo.tasks.detection import Detection

LIMIT = 1.03
PLAIN_LIMITS = {"faster-rcnn_r18-fpn_digits": 0.85, "fcn_r18-slide_digits": 0.85}
EXPORTERS = ("dynamo", "torchscript")


def main() -> int:
    """Print the table; 3 where a target was missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("configs", nargs="*", help="default: the shipped ones")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", type=Path, help="write the table into this Markdown page")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    rows = []
    for path in args.configs or shipped_configs(takes=of_one_size):
        rows += _rows(load_config(path), args.rounds)
    head = "| model | exporter | ours ms | of plain export | of eager PyTorch | nodes ours / plain | held |"
    table = "\n".join([head, "|---|---|---|---|---|---|---|", *(_line(row) for row in rows)])
    where = machine("torch", "torchvision", "onnxruntime")
    print(f"{where}; {args.rounds} rounds\n\n{table}")
    if args.json:
        args.json.write_text(json.dumps({"machine": where, "rows": rows}, indent=2) + "\n", encoding="utf-8")
    if args.page:
        intro = (
            "ONNX Runtime latency of our graphs (level final, dynamic batch, run at batch 1) against torch's plain "
            "torchscript export of the unpatched model and against eager PyTorch. Targets: at most 0.85 of plain for "
            f"Faster R-CNN and slide inference, nowhere above {LIMIT}.\n\n{where}; median of {args.rounds} interleaved "
            "rounds on a shipped validation image."
        )
        write_page(args.page, "Our export against a plain one", intro, "benchmarks/export_vs_plain.py", table)
    return 0 if all(row["held"] for row in rows) else 3


def _rows(config: ModelConfig, rounds: int) -> list[dict[str, Any]]:
    name = config.name
    job = plan_job(config, None, [], ROOT / "work_dirs")
    model = build_model(config)
    reference = run_reference(job, model)
    module = contract_module(model, job.task, "final", job.forward, rule=job.preprocess)
    size = tuple(job.target.preferred.values())
    image = reference_input(job.images[0].value, {**job.preprocess.to_dict(), "size": size}).tensor
    image = image.reshape(1, 3, *size)
    plain = PlainDetector(model).eval() if isinstance(job.task, Detection) else module
    files: dict[str, bytes] = {"plain": plain_export(plain, image)}
    with tempfile.TemporaryDirectory() as folder:
        for exporter in EXPORTERS:
            changed = plan_job(config, job.target.with_(exporter=exporter), [], ROOT / "work_dirs")
            export_step(changed, model, reference, Path(folder))
            files[exporter] = (Path(folder) / "model.onnx").read_bytes()
    feed = {"images": image.numpy()}
    runs: dict[str, Callable[[], Any]] = {}
    for kind, content in files.items():
        runs[kind] = session_run(open_session(content), feed)
    runs["eager"] = _eager(plain, image)
    _check_equal(job.task, runs)
    seconds = interleaved(runs, rounds)
    rows = []
    for exporter in EXPORTERS:
        of_plain, of_eager = ratio(seconds, exporter, "plain"), ratio(seconds, exporter, "eager")
        rows.append(
            {
                "model": name,
                "exporter": exporter,
                "ms": 1e3 * statistics.median(seconds[exporter]),
                "of_plain": of_plain,
                "of_eager": of_eager,
                "nodes": [_nodes(files[exporter]), _nodes(files["plain"])],
                "held": of_plain <= PLAIN_LIMITS.get(name, LIMIT) and of_eager <= LIMIT,
            }
        )
    return rows


def _eager(module: nn.Module, image: Tensor) -> Callable[[], Any]:
    def run() -> object:
        with torch.inference_mode():
            return module(image)

    return run


def _check_equal(task: Task, runs: dict[str, Callable[[], Any]]) -> None:
    """The three do the same work: as many detections, or the same label map."""
    if isinstance(task, Detection):
        counts = {kind: int(np.asarray(runs[kind]()[0])[0]) for kind in EXPORTERS}
        counts |= {kind: len(runs[kind]()[0]) for kind in ("plain", "eager")}
        if len(set(counts.values())) != 1:
            raise AssertionError(f"different numbers of detections: {counts}")
        return
    maps = [np.asarray(run()[0]) for run in runs.values()]
    if any((other != maps[0]).mean() > 1e-4 for other in maps):
        raise AssertionError("the label maps differ")


def _nodes(content: bytes) -> int:
    import onnx

    return len(onnx.load_model_from_string(content).graph.node)


def _line(row: dict[str, Any]) -> str:
    ours, plain = row["nodes"]
    return (
        f"| {row['model']} | {row['exporter']} | {row['ms']:.1f} | {row['of_plain']:.2f} | {row['of_eager']:.2f} "
        f"| {ours} / {plain} | {'yes' if row['held'] else 'NO'} |"
    )


if __name__ == "__main__":
    sys.exit(main())
