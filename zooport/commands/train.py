"""Train a config's model on its data by its recipe, evaluate it, and publish it or compare it."""

import argparse
import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backends.threads import default_threads
from zoo.errors import InputError
from zooport.parser import Parser, flag_of
from zooport.terminal import open_console, show_counts, write_line
from zooport.training_results import compare, keep, publish, scored, show
from zooport.writable import check_writable

if TYPE_CHECKING:
    from torch import nn

    from pipeline.training import Recipe
    from zoo.cards import TrainingRecord, TrainingRun
    from zoo.config import ModelConfig

EXAMPLES = """examples:
  zooport train my_config.py        # with a train_dataset, see docs/own_data.md
  zooport train configs/segmentation/fcn_r18_digits.py --publish
  zooport train configs/segmentation/fcn_r18_digits.py --seed 1 --reproduce --work-dir work_dirs/train/again

mmengine trains on a GPU if it finds one (CUDA_VISIBLE_DEVICES= hides it).
Code 3: the figures of --reproduce differ too much from the published ones."""
BEST = "best.safetensors"  # in the work dir
UNSTATED = "not stated: the config has no card"
LAST_SEED = 2**32 - 1  # numpy's
TRAINING_FLAGS = ("iters", "seed", "load_from", "amp", "resume")


def parser() -> Parser:
    """The flags."""
    flags = Parser(prog="zooport train", description=__doc__, epilog=EXAMPLES)
    flags.add_argument("config", type=Path, metavar="CONFIG", help="a config with a train section")
    flags.add_argument("--work-dir", type=Path, metavar="D", help="default: work_dirs/train/<config>")
    flags.add_argument("--iters", type=int, metavar="N", help="train N iterations instead of the recipe's")
    flags.add_argument("--seed", type=int, metavar="N", help="default: the recipe's")
    flags.add_argument("--load-from", metavar="F", help="weights to start from, for a config with a train_dataset")
    flags.add_argument("--amp", action="store_true", help="mixed precision: bfloat16 on a CPU, float16 on a GPU")
    flags.add_argument("--resume", action="store_true", help="continue from the last checkpoint in the work dir")
    flags.add_argument("--checkpoint", type=Path, metavar="F", help="do not train; use this .pth of an earlier run")
    then = flags.add_mutually_exclusive_group()
    then.add_argument("--publish", action="store_true", help="write the config's checkpoint= file, and its card")
    then.add_argument(
        "--reproduce", action="store_true", help="compare with the published weights, and add the run to their card"
    )
    flags.add_argument("--remark", metavar="TEXT", help='a remark on the run, for the card: "shared with other work"')
    flags.add_argument("--threads", type=int, default=default_threads(), metavar="N", help="CPU threads")
    flags.add_shared()
    return flags


def check_flags(options: argparse.Namespace) -> None:
    """Raises InputError for values and combinations that cannot be meant."""
    for name, least, most in (("threads", 1, None), ("iters", 1, None), ("seed", 0, LAST_SEED)):
        value = getattr(options, name)
        if value is not None and (value < least or (most is not None and value > most)):
            raise InputError(f"{flag_of(name)} {value}: expected {least} {'or more' if most is None else f'to {most}'}")
    values = {name: getattr(options, name) for name in TRAINING_FLAGS}
    given = [name for name, value in values.items() if value is not None and value is not False]  # 0 is a seed
    flags = [flag_of(name) for name in given]
    if options.checkpoint is not None and flags:
        raise InputError(f"--checkpoint {options.checkpoint}: this does not train; leave out {', '.join(flags)}")
    if options.reproduce and options.iters is not None:
        raise InputError("--reproduce --iters: a reproduction does what the recipe says; leave out --iters")


def run(options: argparse.Namespace) -> Mapping[str, Any]:
    """Trains or loads, scores, then publishes or compares. Raises ZooportError. Its imports are here, for --help."""
    check_flags(options)
    from zoo.config import load_config
    from zoo.recipe_data import check_recipe_data

    config = load_config(options.config)
    options.config = config.path  # of a bare name
    check_recipe_data(config)
    import torch

    from pipeline.publishing.weights import check_publishable
    from pipeline.training import Recipe, check_unchanged, half_precision_file, reproduction, scored_on, training_record
    from zoo.build import build_model
    from zoo.cards import TrainingRecord

    logging.disable(logging.NOTSET)  # the log of a training goes to its work dir
    logging.basicConfig(handlers=[logging.NullHandler()])
    torch.set_num_threads(options.threads)
    recipe = Recipe.from_config(
        config, iterations=options.iters, seed=options.seed, load_from=absolute(options.load_from)
    )
    datasets = scored_on(options.config, recipe.also)  # before the long work: can it be scored, and kept?
    kept = folder_of(options) / BEST if config.train_dataset is not None and options.checkpoint is None else None
    if options.publish or options.reproduce:
        file = published_file(config)
        if kept is not None and kept.resolve() == file:
            if options.reproduce:
                raise InputError(
                    f"--reproduce: this training would replace {kept}, which it is compared with; give another "
                    "--work-dir"
                )
            kept = None  # it is published there, with its card
        check_publishable(file)
    published = None
    if options.reproduce:
        published = TrainingRecord.read(file.with_suffix(".json"))
        build_model(config)  # before the long work: do the published weights load?
        check_unchanged(published, recipe)
    model, training = finished(config, recipe, options, published)
    recipe = replace(recipe, seed=training.seed)
    weights = half_precision_file(model)
    if kept is not None:
        keep(kept, weights)
    figures = scored(options.config, recipe, weights)
    content: dict[str, Any] = {"training": training.to_dict(), "figures": figures}
    if options.publish:
        show(figures)
        record = training_record(file.name, weights, model, figures, datasets, recipe, training, licence(config))
        return content | publish(file, record, weights)
    if published is not None:
        again = reproduction(training, weights, figures, scored(options.config, recipe, file.read_bytes()))
        return content | compare(config, file, published, again)
    show(figures)
    return content


def licence(config: "ModelConfig") -> str:
    """Of the weights, for their record."""
    from pipeline.training.published_weights import LICENCE

    if config.train_dataset is None:
        return LICENCE
    return UNSTATED if config.card is None else config.card.licence


def absolute(source: str | None) -> str | None:
    """Weights given on the command line: a path from here, in a recipe one from the config."""
    return source if source is None or "://" in source else str(Path(source).resolve())


def folder_of(options: argparse.Namespace) -> Path:
    """Where checkpoints, log and curves lie."""
    work_dir: Path = options.work_dir or Path("work_dirs") / "train" / options.config.stem
    return work_dir


def finished(
    config: "ModelConfig", recipe: "Recipe", options: argparse.Namespace, published: "TrainingRecord | None"
) -> tuple["nn.Module", "TrainingRun"]:
    """The model to score, trained or loaded, and its run, which is what it is to be taken for. Raises InputError."""
    from pipeline.training import check_proof, check_recipe, check_whole, config_name, read_run
    from zoo.build import build_model
    from zoo.cards import UNTOLD

    if options.checkpoint is None:
        model, training = trained(config, recipe, options)
    else:
        training, model = read_run(options.checkpoint), build_model(config, options.checkpoint)
        if options.publish or options.reproduce:
            check_recipe(training, config_name(options.config), recipe)
        if published is not None:
            check_whole(training, recipe)
        if training.recipe is None:
            write_line(f"{options.checkpoint}: {UNTOLD}")
    if published is not None:
        check_proof(training, published)
    return model, replace(training, remark=options.remark or training.remark)


def published_file(config: "ModelConfig") -> Path:
    """Where the config's weights lie. Raises InputError where they are no file of ours to write."""
    source = config.checkpoint
    if source is None or "://" in source or not source.endswith(".safetensors"):
        raise InputError(f"config {config.path}: checkpoint is {source}; expected the path of a .safetensors file")
    return config.path.parent.joinpath(source).resolve()


def trained(config: "ModelConfig", recipe: "Recipe", options: argparse.Namespace) -> tuple["nn.Module", "TrainingRun"]:
    """Trains, or goes on; draws the curves of what was done. An interruption says how to go on."""
    from pipeline.training import begin_run, last_checkpoint, read_run, resume_run, train, write_curves
    from pipeline.training.training_run import LAST

    work_dir = folder_of(options)
    run = begin_run(options.config, recipe, amp=options.amp)
    resume = last_checkpoint(work_dir) if options.resume else None
    if resume is not None:
        run = resume_run(run, read_run(resume), seed=options.seed)
        recipe = replace(recipe, seed=run.seed)
        write_line(f"continues from {resume.name}, after {run.iterations} of {recipe.iterations} iterations")
    check_writable(work_dir, str(work_dir), "give another --work-dir", make=True)
    pointer = work_dir / LAST
    before = pointer.stat().st_mtime_ns if pointer.is_file() else None  # of an earlier run
    try:
        with show_counts(open_console(), unit="done") as (_, progress):
            return train(config, recipe, work_dir, run, resume=resume, note=write_line, progress=progress)
    except KeyboardInterrupt as stop:
        if pointer.is_file() and (resume is not None or pointer.stat().st_mtime_ns != before):
            stop.add_note("continue with --resume")
        raise
    finally:
        try:
            if curves := write_curves(work_dir):
                write_line(f"curves: {curves}")
        except (OSError, MemoryError) as error:  # the weights matter more
            write_line(f"no curves: {error}")
