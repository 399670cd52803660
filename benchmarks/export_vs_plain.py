"""Our graph in ONNX Runtime against torch's plain export of the same model, and against eager PyTorch.

Plain is what a user gets without zooport: torch.onnx.export(dynamo=False) of the unpatched model, since dynamo refuses
R-CNNs. One shipped image, batch 1, as many threads as the process has cores; runs are interleaved, a ratio is the
median over the rounds. First the outputs of all are compared. Targets: at most 0.85 of plain for Faster R-CNN and slide
inference, nowhere above 1.03 of plain or of eager. Exit code 3 where one is missed.

    python benchmarks/export_vs_plain.py --rounds 30 --page docs/measured/export_vs_plain.md
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

import numpy as np
import torch
from measured import interleaved, machine, of_one_size, ratio, shipped_configs, write_page
from numpy.typing import NDArray
from sessions import PlainDetector, open_session, plain_export, session_run, unpatched_module
from torch import Tensor, nn

from pipeline.export.export_step import export_step
from pipeline.export.reference_run import run_reference
from pipeline.job.job import plan_job
from zoo import build_model
from zoo.config import ModelConfig, load_config
from zoo.input_kinds.image.reference_input import reference_input

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
            f"Faster R-CNN and slide inference, nowhere above {LIMIT}. A plain file takes a batch of 1 alone, so that "
            "ONNX Runtime computes each linear layer as one Gemm; with a dynamic batch it is a MatMul and an Add. No "
            "export: torch or ONNX Runtime refuses the plain one.\n\n"
            f"{where}; median of {args.rounds} interleaved rounds on a shipped validation image."
        )
        write_page(args.page, "Our export against a plain one", intro, "benchmarks/export_vs_plain.py", table)
    return 0 if all(row["held"] for row in rows) else 3


def _rows(config: ModelConfig, rounds: int) -> list[dict[str, Any]]:
    name = config.name
    job = plan_job(config, None, [], ROOT / "work_dirs")
    model = build_model(config)
    reference = run_reference(job, model)
    size = tuple(job.target.preferred.values())
    image = reference_input(job.images[0].value, {**job.preprocess.to_dict(), "size": size}).tensor
    image = image.reshape(1, 3, *size)
    plain = unpatched_module(job, model)
    settings = {} if isinstance(plain, PlainDetector) else plain.default_arrays()
    inputs = (image, *map(torch.from_numpy, settings.values()))
    files: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as folder:
        for exporter in EXPORTERS:
            changed = plan_job(config, job.target.with_(exporter=exporter), [], ROOT / "work_dirs")
            export_step(changed, model, reference, Path(folder))
            files[exporter] = (Path(folder) / "model.onnx").read_bytes()
    runs: dict[str, Callable[[], Any]] = {"eager": _eager(plain, inputs)}
    runs |= {kind: session_run(open_session(content), {"images": image.numpy()}) for kind, content in files.items()}
    exported = _plain(name, plain, inputs)
    if exported is not None:
        files["plain"], runs["plain"] = exported
    _check_equal(name, runs, counted=isinstance(plain, PlainDetector))
    seconds = interleaved(runs, rounds)
    rows = []
    for exporter in EXPORTERS:
        of_plain = ratio(seconds, exporter, "plain") if exported else None
        of_eager = ratio(seconds, exporter, "eager")
        rows.append(
            {
                "model": name,
                "exporter": exporter,
                "ms": 1e3 * statistics.median(seconds[exporter]),
                "of_plain": of_plain,
                "of_eager": of_eager,
                "nodes": [_nodes(files[exporter]), _nodes(files["plain"]) if exported else None],
                "held": (of_plain is None or of_plain <= PLAIN_LIMITS.get(name, LIMIT)) and of_eager <= LIMIT,
            }
        )
    return rows


def _plain(name: str, module: nn.Module, inputs: Sequence[Tensor]) -> tuple[bytes, Callable[[], Any]] | None:
    """The plain file and a run of it; None, with a line that says why, where torch or ONNX Runtime refuses it."""
    try:
        content = plain_export(module, *inputs)
        session = open_session(content)
        feeds = zip(session.get_inputs(), inputs, strict=False)  # an input that nothing reads is not in the file
        run = session_run(session, {node.name: tensor.numpy() for node, tensor in feeds})
        run()
    except Exception as error:  # noqa: BLE001 - what torch and ONNX Runtime raise has no base of its own
        print(f"{name}: no plain export: {str(error).strip().splitlines()[0]}", file=sys.stderr)
        return None
    return content, run


def _eager(module: nn.Module, inputs: Sequence[Tensor]) -> Callable[[], Any]:
    def run() -> object:
        with torch.inference_mode():
            return module(*inputs)

    return run


def _check_equal(name: str, runs: Mapping[str, Callable[[], Any]], *, counted: bool) -> None:
    """All of them do the same work: the same outputs, or `counted`, as many detections.

    Outputs are the same where at most one number in 10 000 is off by more than a thousandth of the largest.
    """
    outputs = {kind: [np.asarray(output) for output in run()] for kind, run in runs.items()}
    if counted:
        counts = {kind: int(own[0][0]) if kind in EXPORTERS else len(own[0]) for kind, own in outputs.items()}
        if len(set(counts.values())) != 1:
            raise AssertionError(f"{name}: different numbers of detections: {counts}")
        return
    for kind, own in outputs.items():
        for index, (output, eager) in enumerate(zip(own, outputs["eager"], strict=True)):
            if output.shape != eager.shape or not _near(output.astype(np.float64), eager.astype(np.float64)):
                raise AssertionError(f"{name}: output {index} of {kind} is not that of eager PyTorch")


def _near(output: NDArray[np.float64], eager: NDArray[np.float64]) -> bool:
    near = np.abs(output - eager) <= 1e-3 * np.abs(eager).max()  # NaN is not near
    return bool(near.mean() >= 1 - 1e-4)


def _nodes(content: bytes) -> int:
    import onnx

    return len(onnx.load_model_from_string(content).graph.node)


def _line(row: dict[str, Any]) -> str:
    ours, plain = row["nodes"]
    of_plain = "no export" if row["of_plain"] is None else f"{row['of_plain']:.2f}"
    return (
        f"| {row['model']} | {row['exporter']} | {row['ms']:.1f} | {of_plain} | {row['of_eager']:.2f} "
        f"| {ours} / {plain or '-'} | {'held' if row['held'] else 'missed'} |"
    )


if __name__ == "__main__":
    sys.exit(main())
