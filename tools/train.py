"""Trains a shipped model as its config's recipe says, scores it on val, and publishes weights and card."""

import argparse
import json
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from command_line import Parser, run_tool

from zoo.errors import InputError

if TYPE_CHECKING:
    from mmengine.config import Config
    from torch import nn

    from zoo.training import Recipe

EXAMPLE = "example: python tools/train.py configs/segmentation/fcn_r18_digits.py --publish"
HISTORY = "training.json"


def parser() -> Parser:
    """The flags."""
    flags = Parser(prog="train.py", description=__doc__, epilog=EXAMPLE)
    flags.add_argument("config", type=Path, metavar="CONFIG", help="a config with a train section")
    flags.add_argument("--work-dir", type=Path, metavar="D", help="default: work_dirs/train/<config>")
    flags.add_argument("--iters", type=int, metavar="N", help="train N iterations instead of the recipe's")
    flags.add_argument("--resume", action="store_true", help="go on from the last checkpoint in the work dir")
    flags.add_argument("--checkpoint", type=Path, metavar="F", help="do not train: score (and publish) this .pth")
    flags.add_argument("--publish", action="store_true", help="write the config's checkpoint= file, and its card")
    flags.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), metavar="N", help="CPU threads")
    flags.add_shared()
    return flags


def run(options: argparse.Namespace) -> Mapping[str, Any]:
    """Trains or loads, scores, publishes. Raises ZooportError. Its imports are here: --help needs no torch."""
    if options.threads < 1:
        raise InputError(f"--threads {options.threads}: expected 1 or more")
    import torch

    from zoo.config import load_config
    from zoo.training import Recipe, load_trained, publish, round_to_half, score

    logging.disable(logging.NOTSET)  # the log of a training is its progress
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.set_num_threads(options.threads)
    path: Path = options.config
    config = load_config(path)
    recipe = Recipe.from_config(config, path, options.iters)
    if options.checkpoint is None:
        model, history = trained(config, recipe, options)
    else:
        model, iterations = load_trained(config, options.checkpoint)
        history = {"iterations": iterations, "minutes": float("nan"), "threads": options.threads}
        if (options.checkpoint.parent / HISTORY).is_file():
            history |= json.loads((options.checkpoint.parent / HISTORY).read_text(encoding="utf-8"))
    round_to_half(model)
    figures = {}
    for other in (path, *(path.parent / name for name in recipe.also)):
        other_config = load_config(other)
        if other != path:
            model.test_cfg = dict(other_config.model.test_cfg)  # type: ignore[assignment]  # the only difference
        figures[other.as_posix()] = score(other_config, model, progress=_show)
        for name, value in figures[other.as_posix()].items():
            print(f"{other}: {name} {value:.2f}")
    if not options.publish:
        return {"figures": figures}
    file = (path.parent / config.checkpoint).resolve()
    card = publish(model, file, config=path.as_posix(), recipe=recipe, figures=figures, history=history)
    print(f"{file} ({file.stat().st_size} bytes), card {card}")
    return {"figures": figures, "checkpoint": str(file), "card": str(card)}


def trained(config: "Config", recipe: "Recipe", options: argparse.Namespace) -> tuple["nn.Module", dict[str, Any]]:
    """Trains; the model and what the card tells of the run. An interruption says how to go on."""
    from zoo.training import train

    work_dir = options.work_dir or Path("work_dirs") / "train" / options.config.stem
    try:
        if not options.resume:
            work_dir.mkdir(parents=True, exist_ok=True)
            with TemporaryFile(dir=work_dir):  # before the long work: can it be written?
                pass
    except OSError as error:
        raise InputError(f"{work_dir} cannot be written: {error.strerror}; give another --work-dir") from error
    try:
        model, minutes = train(config, options.config, recipe, work_dir, resume=options.resume)
    except KeyboardInterrupt as stop:
        if (work_dir / "last_checkpoint").is_file():
            stop.add_note("go on with --resume")
        raise
    history = {"iterations": recipe.iterations, "minutes": minutes, "threads": options.threads}
    (work_dir / HISTORY).write_text(json.dumps(history) + "\n", encoding="utf-8")
    return model, history


def _show(done: int, total: int) -> None:
    end = "\n" if done == total else ""
    print(f"\rscored {done}/{total}", end=end, file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code."""
    return run_tool(parser(), run, arguments)


if __name__ == "__main__":
    sys.exit(main())
