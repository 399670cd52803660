"""The card of published weights as a page to read."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pipeline.training.checkpoint_card import CheckpointCard, Figures
from pipeline.training.training_run import TrainingRun

UNTOLD = (
    "its checkpoint is older than the record of recipes: that this one made it is known from the config alone, and "
    "whether it was resumed is not known"
)


def checkpoint_page(card: CheckpointCard) -> str:
    """Markdown, made from the card alone."""
    return "\n".join((*_weights(card), *_figures(card), *_making(card), *_reproductions(card)))


def _weights(card: CheckpointCard) -> Iterator[str]:
    yield f"# {Path(card.file).stem}"
    yield ""
    yield f"Weights of {' and '.join(f'`{config}`' for config in card.figures)}."
    yield ""
    yield f"- file: `{card.file}`, {card.bytes} bytes, fp16 safetensors (the state dict, buffers included)"
    yield f"- sha256: `{card.sha256}`"
    yield f"- parameters: {card.parameters}"
    yield f"- licence: {card.licence}"
    yield ""


def _figures(card: CheckpointCard) -> Iterator[str]:
    yield "## Figures"
    yield ""
    yield "In points 0..100 (PSNR in dB), measured in eager PyTorch with these weights (rounded to fp16, computed in"
    yield "fp32) and each config's own preprocessing and data set:"
    yield ""
    for config, dataset in card.datasets.items():
        more = ", ".join(f"{key} {value}" for key, value in dataset.items() if key not in ("type", "images"))
        yield f"- `{config}`: {dataset['images']} images of {dataset['type']}{more and f' ({more})'}"
    yield ""
    yield "| config | metric | figure |"
    yield "|---|---|---|"
    for config, metric, value in _rows(card.figures):
        yield f"| `{config}` | {metric} | {_points(value)} |"
    yield ""


def _making(card: CheckpointCard) -> Iterator[str]:
    recipe, run = card.recipe, card.training
    yield "## How it was made"
    yield ""
    yield f"    python tools/train.py {run.config} --publish"
    yield ""
    yield from _data(recipe)
    yield f"- seed {run.seed}; {run.iterations} of {recipe['iterations']} iterations"
    yield f"- {_effort(run)}"
    yield f"- optimizer: {json.dumps(recipe['optimizer'])}"
    yield f"- schedule: {_schedule(recipe)}"
    yield f"- batch: {recipe['batch_size']} tensors of {recipe['crop'][0]}x{recipe['crop'][1]} (height x width)"
    height, width = recipe["size"]
    scaled = "the photograph" if recipe["num_scenes"] is None else f"letterbox to {height}x{width}"
    yield f"- scale: {scaled}, times {recipe['scale'][0]} to {recipe['scale'][1]}"
    backbone = recipe["backbone"]
    yield f"- start: {'random weights' if backbone is None else f'the backbone of `{Path(backbone).name}`{_hash(run)}'}"
    if recipe["pretrain"]:
        yield f"- pre-training: the backbone, as a classifier of single digits: {json.dumps(recipe['pretrain'])}"
    yield f"- {_versions(run)}; weights vary with both"
    if run.recipe is None:
        yield f"- {UNTOLD}"
    yield ""


def _data(recipe: Mapping[str, Any]) -> Iterator[str]:
    if recipe["num_scenes"] is None:
        yield "- data: crops of the `train` photographs ([card](../data/photographs/README.md)), mirrored and turned."
        yield "  No photograph of `val` is among them."
    else:
        scenes = f"{recipe['num_scenes']} `train` scenes of the digits ([card](../data/digits/README.md))"
        yield f"- data: {scenes}, never mirrored."
        yield "  No photograph and no handwritten sample of `val` is in them."


def _reproductions(card: CheckpointCard) -> Iterator[str]:
    if not card.reproduced:
        return
    yield "## Made again"
    yield ""
    yield "By the same recipe, with the seed that is told, and scored as above. The difference is to the published"
    yield "weights, scored in the same process."
    yield ""
    for number, run in enumerate(card.reproduced, 1):
        made = "the published weights, to the bit" if run.sha256 == card.sha256 else "other weights"
        yield f"{number}. seed {run.seed}, {run.iterations} iterations, {_effort(run)}, {_versions(run)}: {made}"
        if run.recipe is None:
            yield f"   ({UNTOLD})"
    yield ""
    yield "| run | config | metric | figure | difference |"
    yield "|---|---|---|---|---|"
    for number, run in enumerate(card.reproduced, 1):
        for config, metric, value in _rows(run.figures):
            change = run.differences[config][metric]
            yield f"| {number} | `{config}` | {metric} | {_points(value)} | {_points(change, sign='+')} |"
    yield ""


def _effort(run: TrainingRun) -> str:
    where = f"{run.threads} CPU cores" if run.device == "cpu" else run.device
    amp = ", mixed precision" if run.amp else ""
    resumed = f", resumed {run.resumed} times" if (run.resumed or 0) > 1 else ", resumed once" if run.resumed else ""
    return f"{run.minutes:.0f} minutes on {where}{amp}{resumed}" + (f", {run.remark}" if run.remark else "")


def _schedule(recipe: Mapping[str, Any]) -> str:
    """As pipeline.training.optimization makes it."""
    warmup, iterations = recipe["warmup"], recipe["iterations"]
    if iterations <= warmup:
        return "a constant rate"
    rising = f"{warmup} iterations of warm-up, then " if warmup else ""
    return f"{rising}a half cosine to 0 at {iterations}"


def _hash(run: TrainingRun) -> str:
    return "" if run.backbone_sha256 is None else f" (sha256 `{run.backbone_sha256}`)"


def _versions(run: TrainingRun) -> str:
    return f"torch {run.torch}, Python {run.python}"


def _rows(figures: Figures) -> Iterator[tuple[str, str, float | None]]:
    return ((config, metric, value) for config, row in figures.items() for metric, value in row.items())


def _points(value: float | None, sign: str = "") -> str:
    return "nothing to judge" if value is None else f"{value:{sign}.2f}"
