"""What training in torch's plain layout costs beside channels last, which corrupts memory on some CPUs.

    python benchmarks/training_layout.py [--rounds N] [--go-on] [CONFIG ...]

Each recipe's model makes whole training steps (losses, backward, optimiser) on one batch of the recipe's size and crop,
in two child processes, one for each layout, that take turns; a crash of one is a row of the table. Writes
docs/measured/training_layout.md, and beside it the same as JSON.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

import torch
from measured import machine, write_page
from mmengine.optim import build_optim_wrapper
from torch import Tensor, nn

from pipeline.training.optimization import optimization
from pipeline.training.recipe import Recipe
from pipeline.training.trainable import Trainable
from pipeline.training.training_data import training_data
from zoo.build import build_model
from zoo.config import load_config

Records = dict[str, dict[str, list[float] | int]]
"""By recipe and layout the seconds of the steps, or the exit status of a side that ended."""
LAYOUTS = {"plain": torch.contiguous_format, "channels last": torch.channels_last}
SCENES = 16  # of digits, which a batch is of
HEATMAPS = "keypoint_predictor"
WARM_UP = 2
PAGE = ROOT / "docs" / "measured" / "training_layout.md"
INTRO = """Median of {rounds} training steps (losses, backward pass, optimiser) of each recipe, on one batch of its size
and crop. Two processes take turns, one for each layout. Ratio: the median of the rounds' ratios, plain to channels
last; above 1 plain is slower. Training uses the plain layout: in channels last, torch's backward pass corrupts memory
in small convolutions on some CPUs. A step that did so unseen is in this table, too; a side that crashed has its exit
status in place of a time.

{machine}"""


def recipes() -> list[Path]:
    """All configs that are trained."""
    found = sorted((ROOT / "configs").rglob("*.py"))
    return [path for path in found if "_base_" not in path.parts and "iterations" in (load_config(path).train or {})]


class Step(nn.Module):
    """One training step, by the recipe's optimiser."""

    def __init__(self, path: Path, layout: torch.memory_format) -> None:
        super().__init__()
        torch.manual_seed(0)
        config = load_config(path)
        recipe = Recipe.from_config(config, iterations=1)
        recipe = recipe if recipe.num_scenes is None else replace(recipe, num_scenes=SCENES)
        model = build_model(config, weights=False)
        self.batch = next(iter(training_data(config, recipe, model)))
        self.batch["images"] = self.batch["images"].contiguous(memory_format=layout)
        wrapped = Trainable(model)
        self.trainable = wrapped.to(memory_format=layout).train()
        for name, module in self.trainable.named_modules():
            if name.endswith(HEATMAPS):  # torchvision's loss takes a view of them
                module.register_forward_hook(lambda _module, _inputs, maps: maps.contiguous())
        self.optimizer = build_optim_wrapper(self.trainable, optimization(recipe, amp=False))

    def forward(self) -> Tensor:
        """The loss."""
        loss: Tensor = self.trainable.parse_losses(self.trainable(**self.batch, mode="loss"))[0]
        self.optimizer.update_params(loss)
        return loss


def serve(path: Path, layout: str) -> None:
    """In the child: a step for each line read, its seconds on a line of their own."""
    answers, sys.stdout = sys.stdout, sys.stderr  # mmengine logs to standard output
    step = Step(path, LAYOUTS[layout])
    for _ in sys.stdin:
        start = time.perf_counter()
        step()
        print(time.perf_counter() - start, file=answers, flush=True)


def measure(path: Path, rounds: int) -> dict[str, list[float] | int]:
    """Of one recipe."""
    with ExitStack() as held:
        children = {}
        for layout in LAYOUTS:
            command = [sys.executable, __file__, str(path), "--serve", layout]
            child = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
            held.callback(child.wait)
            held.callback(child.kill)
            children[layout] = child
        seconds: dict[str, list[float]] = {layout: [] for layout in LAYOUTS}
        ended: dict[str, int] = {}
        for number in range(WARM_UP + rounds):
            for layout in [*LAYOUTS][:: 1 if number % 2 else -1]:
                if layout in ended:
                    continue
                if (took := asked(children[layout])) is None:
                    ended[layout] = children[layout].wait()
                elif number >= WARM_UP:
                    seconds[layout].append(took)
        return {layout: ended.get(layout, seconds[layout]) for layout in LAYOUTS}


def asked(child: "subprocess.Popen[str]") -> float | None:
    """The seconds of one step; None where the child has ended."""
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write("\n")
        child.stdin.flush()
    except BrokenPipeError:
        return None
    line = child.stdout.readline()
    return float(line) if line else None


def row(path: Path, measured: dict[str, list[float] | int]) -> str:
    """Of the table."""
    cells = [
        f"crashed ({value})" if isinstance(value, int) else f"{1000 * statistics.median(value):.0f}"
        for value in (measured[layout] for layout in LAYOUTS)
    ]
    sides = [value for value in (measured[layout] for layout in LAYOUTS) if not isinstance(value, int)]
    both = len(sides) == len(LAYOUTS)
    ratio = f"{statistics.median(a / b for a, b in zip(*sides, strict=True)):.2f}" if both else ""
    return f"| {path.stem} | {(load_config(path).train or {})['batch_size']} | {' | '.join(cells)} | {ratio} |"


def made_on() -> str:
    """The machine, and the instruction set of torch's kernels."""
    return f"{machine('torch')}, {torch.backends.cpu.get_cpu_capability()}"


def write(records: Records, rounds: int) -> None:
    """The page of what is measured so far, and the same as JSON."""
    head = "| recipe | batch | plain, ms | channels last, ms | ratio |\n|---|---:|---:|---:|---:|\n"
    rows = [row(path, records[path.stem]) for path in recipes() if path.stem in records]
    intro = INTRO.format(rounds=rounds, machine=made_on())
    write_page(PAGE, "The layout of training", intro, "python benchmarks/training_layout.py", head + "\n".join(rows))
    content = {"machine": made_on(), "rounds": rounds, "seconds_or_exit_status": records}
    PAGE.with_suffix(".json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("configs", nargs="*", type=Path, metavar="CONFIG", help="default: every recipe")
    parser.add_argument("--go-on", action="store_true", help="keep the rows that are on the page")
    parser.add_argument("--rounds", type=int, default=7, metavar="N")
    parser.add_argument("--serve", choices=LAYOUTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.configs[0], options.serve)
        return
    file = PAGE.with_suffix(".json")
    before = json.loads(file.read_text(encoding="utf-8")) if options.go_on else {}
    records: Records = {} if before.get("machine") != made_on() else before["seconds_or_exit_status"]
    for path in options.configs or recipes():
        if path.stem not in records:
            records[path.stem] = measure(path, options.rounds)
            write(records, options.rounds)
            print(path.stem, flush=True)


if __name__ == "__main__":
    main()
