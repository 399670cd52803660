"""How the weights of a card were made, and made again, in Markdown."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from zoo.cards.training_record import Figures, TrainingRecord, TrainingRun
from zoo.generated_data import DIGITS, GENERATED, PHOTOGRAPHS, GeneratedData
from zoo.input_kinds import InputKind

Link = Callable[[Path], str]
UNTOLD = (
    "its checkpoint is older than the record of recipes: only the config shows that this recipe made it, and "
    "whether it was resumed is not known"
)


def training_section(record: TrainingRecord, kind: InputKind, link: Link) -> list[str]:
    """The lines, below the card's own. `kind`: of what the model takes. `link` gives the address of a path as the page
    writes it.
    """
    return [*_training(record, kind, link), *_reproductions(record)]


def _training(record: TrainingRecord, kind: InputKind, link: Link) -> Iterator[str]:
    recipe, run = record.recipe, record.training
    yield ""
    yield "### Training"
    yield ""
    yield f"    python tools/train.py {run.config} --publish"
    yield ""
    yield from (_own_data if is_own(recipe) else _generated_data)(recipe, link)
    yield f"- seed {run.seed}; {run.iterations} of {recipe['iterations']} iterations"
    yield f"- {_effort(run)}"
    yield f"- optimizer: {json.dumps(recipe['optimizer'])}, gradients clipped to a norm of {recipe['max_grad_norm']:g}"
    yield f"- schedule: {_schedule(recipe)}"
    yield f"- batch: {recipe['batch_size']} {_tensors(recipe, kind)}"
    yield f"- scale: {_scaled(recipe, kind)}, times {recipe['scale'][0]} to {recipe['scale'][1]}"
    yield f"- start: {_start(recipe, run)}"
    if recipe["pretrain"]:
        yield f"- pre-training: the backbone, as a classifier of single digits: {json.dumps(recipe['pretrain'])}"
    yield f"- {_versions(run)}; weights vary with both"
    if run.recipe is None:
        yield f"- {UNTOLD}"


def is_own(recipe: Mapping[str, Any]) -> bool:
    """Whether the model learned from a ``train_dataset``: its validations are in every such recipe, and in no other."""
    return recipe.get("val_interval") is not None


def _own_data(recipe: Mapping[str, Any], link: Link) -> Iterator[str]:
    section = dict(recipe.get("train_dataset") or {})
    name = section.pop("type", "the config's `train_dataset`")  # older records do not name it
    about = ", ".join([name, *(f"{key} {value}" for key, value in section.items())])
    card = f" ({_card(GENERATED[name], link)})" if name in GENERATED else ""
    turned = f", turned by up to {recipe['turn']:g} degrees" if recipe.get("turn") else ""
    yield f"- data: {about}{card}, {'half of it mirrored' if recipe.get('mirror') else 'never mirrored'}{turned}"
    interval = recipe["val_interval"]
    yield f"- weights: the best of the validations on the config's `dataset`, one every {interval} iterations"


def _generated_data(recipe: Mapping[str, Any], link: Link) -> Iterator[str]:
    if recipe["num_scenes"] is None:
        yield f"- data: crops of the `train` photographs ({_card(PHOTOGRAPHS, link)}), mirrored and turned."
        yield "  No photograph of `val` is among them."
    else:
        yield f"- data: {recipe['num_scenes']} `train` scenes of the digits ({_card(DIGITS, link)}), never mirrored."
        yield "  No photograph and no handwritten sample of `val` is in them."


def _card(data: GeneratedData, link: Link) -> str:
    return f"[card]({link(data.root / 'README.md')})"


def _tensors(recipe: Mapping[str, Any], kind: InputKind) -> str:
    """What a batch is made of; what has no crop keeps its own size."""
    if recipe["crop"] is None:
        return kind.plural
    return f"tensors of {kind.size_words(recipe['crop'])} ({kind.size_axes})"


def _scaled(recipe: Mapping[str, Any], kind: InputKind) -> str:
    if recipe["crop"] is None:
        return f"the {kind.noun}"
    if is_own(recipe):
        return "as the config's `preprocess` says"
    return "the photograph" if recipe["num_scenes"] is None else f"letterbox to {kind.size_words(recipe['size'])}"


def _start(recipe: Mapping[str, Any], run: TrainingRun) -> str:
    if recipe.get("load_from") is not None:
        return f"the weights of `{Path(recipe['load_from']).name}`"
    backbone = recipe["backbone"]
    return "random weights" if backbone is None else f"the backbone of `{Path(backbone).name}`{_hash(run)}"


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
