"""How the weights of a card were made, and made again, in Markdown."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from zoo.cards.training_record import Figures, TrainingRecord, TrainingRun

Link = Callable[[Path], str]
DATA = Path(__file__).resolve().parents[1] / "data"
UNTOLD = (
    "its checkpoint is older than the record of recipes: only the config shows that this recipe made it, and "
    "whether it was resumed is not known"
)


def training_section(record: TrainingRecord, link: Link) -> list[str]:
    """The lines, below the card's own. `link` gives the address of a path as the page writes it."""
    return [*_training(record, link), *_reproductions(record)]


def _training(record: TrainingRecord, link: Link) -> Iterator[str]:
    recipe, run = record.recipe, record.training
    yield ""
    yield "### Training"
    yield ""
    yield f"    python tools/train.py {run.config} --publish"
    yield ""
    yield from _data(recipe, link)
    yield f"- seed {run.seed}; {run.iterations} of {recipe['iterations']} iterations"
    yield f"- {_effort(run)}"
    yield f"- optimizer: {json.dumps(recipe['optimizer'])}, gradients clipped to a norm of {recipe['max_grad_norm']:g}"
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


def _data(recipe: Mapping[str, Any], link: Link) -> Iterator[str]:
    if recipe["num_scenes"] is None:
        card = link(DATA / "photographs" / "README.md")
        yield f"- data: crops of the `train` photographs ([card]({card})), mirrored and turned."
        yield "  No photograph of `val` is among them."
    else:
        card = link(DATA / "digits" / "README.md")
        yield f"- data: {recipe['num_scenes']} `train` scenes of the digits ([card]({card})), never mirrored."
        yield "  No photograph and no handwritten sample of `val` is in them."


def _reproductions(record: TrainingRecord) -> Iterator[str]:
    if not record.reproduced:
        return
    yield ""
    yield "### Reproductions"
    yield ""
    yield "Trainings by the same recipe, scored in eager PyTorch. The difference is to the published weights, scored in"
    yield "the same process."
    yield ""
    for number, run in enumerate(record.reproduced, 1):
        weights = "the published weights, to the bit" if run.sha256 == record.sha256 else "other weights"
        yield f"{number}. seed {run.seed}, {run.iterations} iterations, {_effort(run)}, {_versions(run)}: {weights}"
        if run.recipe is None:
            yield f"   ({UNTOLD})"
    yield ""
    yield "| run | config | metric | figure | difference |"
    yield "|---|---|---|---:|---:|"
    for number, run in enumerate(record.reproduced, 1):
        for config, metric, value in _rows(run.figures):
            change = run.differences[config][metric]
            yield f"| {number} | `{config}` | {metric} | {_points(value)} | {_points(change, sign='+')} |"


def _effort(run: TrainingRun) -> str:
    cores = "1 CPU core" if run.threads == 1 else f"{run.threads} CPU cores"
    where = cores if run.device == "cpu" else run.device
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
