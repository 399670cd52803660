"""How long do detectors of point clouds take from points to 3D boxes, beside eager PyTorch, and their suppression?

The shipped weights, or those of --checkpoint, on scenes of `streets`; everything in turns, on one thread: eager, the
one graph in ONNX Runtime and in OpenVINO, and level pillars, whose points the host puts into pillars.

    python benchmarks/pillars.py --page docs/measured/pillars.md
    python benchmarks/pillars.py CONFIG --checkpoint FILE
"""

import argparse
import json
import statistics
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

import onnx
import onnxruntime as ort
import torch
from measured import interleaved, machine, ratio, write_page

from backends import load
from pipeline.deploying import deploy
from pipeline.job.deploy_target import deploy_target
from tests.rewriters.small_pillars import padded
from zoo import build_model
from zoo.config import load_config, read_config
from zoo.datasets.streets.scene import make_scene
from zoo.pillars import LEVEL

RECIPES = tuple(
    str(ROOT / "configs" / "detection3d" / f"{name}_streets.py") for name in ("pointpillars", "centerpoint-pillars")
)
SUPPRESSION, KERNEL = "rotatednmskeep", "_kernel_time"
SCENES, ROUNDS, TARGET = 4, 15, 0.70


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("configs", nargs="*", default=RECIPES)
    parser.add_argument("--checkpoint", type=Path, help="other weights of one config")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--page", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    clouds = [make_scene("gate", number).points for number in range(SCENES)]
    lines = [
        "| model | eager ms | graph / eager | | OpenVINO / eager | host and pillars / graph | | suppression / graph |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for config in args.configs:
        lines.append(_row(Path(config), args.checkpoint, clouds, args.rounds))
        print(lines[-1], flush=True)
    points = statistics.mean(map(len, clouds))
    intro = (
        f"From points to boxes, one cloud of {points:,.0f} points on average, {SCENES} scenes, "
        f"{args.checkpoint or 'shipped weights'}; eager PyTorch, the one graph in ONNX Runtime and in OpenVINO, and "
        f"level pillars in ONNX Runtime with the host that makes its pillars, each on one thread. Medians of "
        f"{args.rounds} interleaved rounds; a ratio is the median of theirs. Targets: the graph takes at most "
        f"{TARGET:.2f} of eager's time, and no more than the host and level pillars together.\n\n"
        f"{machine('torch', 'onnxruntime', 'openvino')}"
    )
    if args.page:
        write_page(args.page, "Latency of detectors on pillars", intro, "benchmarks/pillars.py", "\n".join(lines))


def _row(config: Path, checkpoint: Path | None, clouds: list[Any], rounds: int) -> str:
    model = build_model(read_config(config), checkpoint).eval()
    tensors = [torch.from_numpy(cloud) for cloud in clouds]
    with ExitStack() as held, torch.no_grad():
        folder = Path(held.enter_context(tempfile.TemporaryDirectory()))

        def deployed(name: str, **options: Any) -> Path:
            target = deploy_target(load_config(config), **options)
            deploy(config, target, checkpoint=checkpoint, work_dir=folder / name).close()
            (file,) = (folder / name).rglob("model.onnx")
            return file.parent

        places = {
            "graph": deployed("graph"),
            "OpenVINO": deployed("openvino", backend="openvino"),
            "pillars": deployed("pillars", level=LEVEL),
        }
        models = {name: held.enter_context(load(place, threads=1)) for name, place in places.items()}
        runs: dict[str, Callable[[], object]] = {"eager": lambda: [model([cloud]) for cloud in tensors]}
        for name, one in models.items():
            runs[name] = partial(_all, one, clouds)
        seconds = interleaved(runs, rounds)
        feeds = [{key: tensor.numpy() for key, tensor in padded([cloud], len(cloud)).items()} for cloud in tensors]
        share = _suppression(places["graph"] / "model.onnx", feeds)
    eager = statistics.median(seconds["eager"]) / len(clouds) * 1000
    graph, openvino = ratio(seconds, "graph", "eager"), ratio(seconds, "OpenVINO", "eager")
    host = ratio(seconds, "pillars", "graph")
    return (
        f"| {config.stem} | {eager:.0f} | {graph:.2f} | {_verdict(graph <= TARGET)} | {openvino:.2f} | {host:.2f} | "
        f"{_verdict(host >= 1)} | {share:.2f} |"
    )


def _all(model: Any, clouds: list[Any]) -> object:
    return [model(cloud) for cloud in clouds]


def _verdict(held: bool) -> str:
    return "held" if held else "missed"


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
