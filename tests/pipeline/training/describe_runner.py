"""A process that builds the Runner of a config, trains nothing, and prints what it was given. Run by tests."""

import json
import sys
from pathlib import Path
from typing import Any

import pipeline.training.starting_model as starting
from pipeline.training import Pretraining, Recipe, begin_run
from pipeline.training.runner import RunInCheckpoint, build_runner
from zoo.config import load_config


def main(path: Path) -> None:
    pretrained: list[int] = []

    def pretrain(_backbone: object, plan: Pretraining, **_others: Any) -> None:
        pretrained.extend([plan.iterations, plan.batch_size, plan.side])

    starting.pretrain = pretrain
    config = load_config(path)
    recipe = Recipe.from_config(config)
    record = RunInCheckpoint(begin_run(path, recipe, amp=False))
    runner = build_runner(config, recipe, path.parent / "work", record)
    wrapper = runner.build_optim_wrapper(runner.optim_wrapper)
    groups = wrapper.optimizer.param_groups
    found = {
        "decays": sorted({group["weight_decay"] for group in groups}),
        "rates": sorted({group["lr"] for group in groups}),
        "clip": wrapper.clip_grad_kwargs,
        "schedule": [[entry["type"], entry["begin"], entry["end"]] for entry in runner.param_schedulers],
        "iterations": runner.train_loop.max_iters,
        "batch_size": runner.train_dataloader.batch_size,
        "samples": len(runner.train_dataloader.dataset),
        "pretrained": pretrained,
    }
    print(json.dumps(found))  # noqa: T201 - its output is its purpose


if __name__ == "__main__":
    main(Path(sys.argv[1]))
