"""Trains a shipped model as its config's recipe says, scores it on val, and publishes weights and card."""

import argparse
import json
import logging
import os
import sys
import traceback
from pathlib import Path

import torch

from zoo.config import load_config
from zoo.errors import ZooportError
from zoo.training import Recipe, load_trained, publish, round_to_half, score, train

EXAMPLE = "example: python tools/train.py configs/segmentation/fcn_r18_digits.py --publish"
HISTORY = "training.json"


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLE)
    parser.add_argument("config", type=Path, metavar="CONFIG", help="a config with a train section")
    parser.add_argument("--work-dir", type=Path, metavar="D", help="default: work_dirs/train/<config>")
    parser.add_argument("--iters", type=int, metavar="N", help="train N iterations instead of the recipe's")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint in the work dir")
    parser.add_argument("--checkpoint", type=Path, metavar="F", help="do not train: score (and publish) this .pth")
    parser.add_argument("--publish", action="store_true", help="write the config's checkpoint= file, and its card")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), metavar="N", help="CPU threads")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the traceback of an error")
    return parser.parse_args(arguments)


def run(options: argparse.Namespace) -> None:
    """Trains or loads, scores, publishes. Raises ZooportError."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.set_num_threads(options.threads)
    path: Path = options.config
    config = load_config(path)
    recipe = Recipe.from_config(config, path, options.iters)
    work_dir = options.work_dir or Path("work_dirs") / "train" / path.stem
    if options.checkpoint is None:
        model, minutes = train(config, path, recipe, work_dir, resume=options.resume)
        history = {"iterations": recipe.iterations, "minutes": minutes, "threads": options.threads}
        (work_dir / HISTORY).write_text(json.dumps(history) + "\n", encoding="utf-8")
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
    if options.publish:
        file = (path.parent / config.checkpoint).resolve()
        card = publish(model, file, config=path.as_posix(), recipe=recipe, figures=figures, history=history)
        print(f"{file} ({file.stat().st_size} bytes), card {card}")


def _show(done: int, total: int) -> None:
    end = "\n" if done == total else ""
    print(f"\rscored {done}/{total}", end=end, file=sys.stderr, flush=True)


def main() -> int:
    """The exit code."""
    options = parse_arguments()
    try:
        run(options)
    except ZooportError as error:
        if options.verbose:
            traceback.print_exc()
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted; go on with --resume", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
