"""How long does a graph from points to 3D boxes take, beside eager PyTorch, and how much of it is the suppression?

Without weights in the repository the heads are random and calibrated, so that their scores spread around 0.5 and the
suppression has its full number of candidates. Eager and graph run in turns on one thread, on scenes of `streets`.

    python benchmarks/pillars.py --page docs/measured/pillars.md
    python benchmarks/pillars.py CONFIG --checkpoint FILE
"""

import argparse
import json
import statistics
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

import onnx
import onnxruntime as ort
import torch
from measured import interleaved, machine, ratio, write_page
from sessions import open_session, session_run
from torch import Tensor

from pipeline.deploying import deploy
from tests.rewriters.small_pillars import find_things, padded
from zoo import build_model
from zoo.config import read_config
from zoo.datasets.streets.scene import make_scene

RECIPES = tuple(
    str(ROOT / "tests" / "pipeline" / "points" / f"{name}_streets.py")
    for name in ("pointpillars", "centerpoint-pillars")
)
SUPPRESSION, KERNEL = "rotatednmskeep", "_kernel_time"
SCENES, ROUNDS, TARGET = 4, 15, 0.70


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("configs", nargs="*", default=RECIPES)
    parser.add_argument("--checkpoint", type=Path, help="trained weights of one config")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--page", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    clouds = [torch.from_numpy(make_scene("gate", number).points) for number in range(SCENES)]
    lines = [
        "| model | eager ms | graph ms | graph / eager | suppression, of the graph | |",
        "|---|---|---|---|---|---|",
    ]
    for config in args.configs:
        lines.append(_row(Path(config), args.checkpoint, clouds, args.rounds))
        print(lines[-1], flush=True)
    points = statistics.mean(map(len, clouds))
    heads = f"weights of {args.checkpoint}" if args.checkpoint else "calibrated random weights"
    intro = (
        f"From points to boxes, one cloud of {points:,.0f} points on average, {SCENES} scenes, {heads}; ONNX Runtime "
        f"beside eager PyTorch, each on one thread. Medians of {args.rounds} interleaved rounds; the ratio is "
        f"the median of theirs. Target: {TARGET:.2f}.\n\n{machine('torch', 'onnxruntime')}"
    )
    if args.page:
        write_page(args.page, "Latency of detectors on pillars", intro, "benchmarks/pillars.py", "\n".join(lines))


def _row(config: Path, checkpoint: Path | None, clouds: list[Tensor], rounds: int) -> str:
    with tempfile.TemporaryDirectory() as name, torch.no_grad():
        folder = Path(name)
        model = build_model(read_config(config), checkpoint, weights=checkpoint is not None)
        if checkpoint is None:
            torch.manual_seed(0)
            model = find_things(model, clouds)
        torch.save(model.state_dict(), folder / "weights.pth")
        random = checkpoint is None  # the scores of random heads lie together: some pairs of them change places
        deploy(config, checkpoint=folder / "weights.pth", work_dir=folder, allow_parity_failure=random).close()
        (path,) = folder.rglob("model.onnx")
        session = open_session(path.read_bytes(), threads=1)
        feeds = [{key: tensor.numpy() for key, tensor in padded([cloud], len(cloud)).items()} for cloud in clouds]
        runs = {
            "eager": lambda: [model([cloud]) for cloud in clouds],
            "graph": lambda: [session_run(session, feed)() for feed in feeds],
        }
        seconds = interleaved(runs, rounds)
        share = _suppression(path, feeds)
    eager, graph = (statistics.median(seconds[side]) / len(clouds) * 1000 for side in runs)
    relative = ratio(seconds, "graph", "eager")
    verdict = "held" if relative <= TARGET else "missed"
    return f"| {config.stem} | {eager:.0f} | {graph:.0f} | {relative:.2f} | {share:.2f} | {verdict} |"


def _suppression(path: Path, feeds: list[dict[str, Any]]) -> float:
    """The share of the nodes' time that the suppression takes, by ONNX Runtime's profile."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.enable_profiling = True
    options.profile_file_prefix = str(path.with_suffix(""))
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    for feed in feeds:
        session.run(None, feed)
    events = json.loads(Path(session.end_profiling()).read_text(encoding="utf-8"))
    inner = _inner(onnx.load(path, load_external_data=False).graph)  # a loop's own time has theirs in it
    kernels = ((event["name"].removesuffix(KERNEL), event) for event in events if event["name"].endswith(KERNEL))
    times = [(name, event["dur"]) for name, event in kernels if name not in inner]
    suppression = sum(time for name, time in times if SUPPRESSION in name.replace("_", "").lower())
    share: float = suppression / sum(time for _, time in times)
    return share


def _inner(graph: onnx.GraphProto) -> set[str]:
    """The names of the nodes within loops and branches."""
    bodies = [attribute.g for node in graph.node for attribute in node.attribute if attribute.HasField("g")]
    return {node.name for body in bodies for node in body.node}.union(*map(_inner, bodies))


if __name__ == "__main__":
    main()
