"""The content of a config for data of one's own."""

from collections.abc import Iterator, Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

from pipeline.training.recipe_values import OPTIMIZERS
from zoo.build import located_model, takes_argument
from zoo.config import ModelConfig
from zoo.config.located import is_address
from zoo.files.relative import relative_to_file
from zoo.registry import METRICS
from zoo.tasks import ClassInfo

CLASS_COUNT, POINT_COUNT = "num_classes", "num_keypoints"
BATCH_SIZE = 4
PASSES = 6  # over the images, from weights that have learned already
LEAST_ITERATIONS = 60
WARMUP = 0.2  # of the iterations, at most
PATIENCE = 5
SLOWER = 0.5  # of the rate from scratch, for weights that have learned already
OF_DATA = ("anchor",)  # arguments of a model that were measured on other data, by a part of their names


def own_content(
    base: ModelConfig,
    classes: Sequence[ClassInfo],
    sections: Sequence[Mapping[str, Any]],
    out: Path,
    *,
    count: int,
    num_keypoints: int | None,
    checkpoint: Path,
) -> dict[str, Any]:
    """All keys of the new config; `sections`: data to learn from, which is `count` images, and to be judged on.

    `checkpoint`: where a training leaves the best weights. Nothing of the base that is about its data is taken over.
    """
    before, content = base.task.classes, base.content
    names = [*_background(before), *classes]
    counts = {CLASS_COUNT: (len(before), len(names)), POINT_COUNT: (None, num_keypoints)}
    train, judged = sections
    result = {
        "custom_imports": content.get("custom_imports"),
        "model": _model(base, counts, out),
        "task": {
            **{key: value for key, value in content["task"].items() if key != "classes"},
            "classes": [{"name": info.name, "category_id": info.category_id} for info in names],
        },
        "preprocess": content["preprocess"],
        "train_dataset": dict(train),
        "dataset": dict(judged),
        "calibration_dataset": dict(train),
        "evaluator": _evaluator(base, counts),
        "checkpoint": relative_to_file(checkpoint, out),
        "train": _recipe(base, count),
        "export": content.get("export"),
    }
    return {key: value for key, value in result.items() if value is not None}


def measured_elsewhere(model: Mapping[str, Any], name: str = "model") -> Iterator[str]:
    """The arguments of a model that suit the data it was made for: model.anchors."""
    for key, value in model.items():
        if any(part in key for part in OF_DATA):
            yield f"{name}.{key}"
        if isinstance(value, Mapping):
            yield from measured_elsewhere(value, f"{name}.{key}")


def start_weights(base: ModelConfig) -> str | None:
    """The base's weights, an address or a whole path; None where they are not on this machine."""
    weights = base.weights
    if weights is None or is_address(weights):
        return weights
    return str(Path(weights).resolve()) if Path(weights).is_file() else None


def _background(classes: Sequence[ClassInfo]) -> list[ClassInfo]:
    """What the base's model counts before its first class: a background that no annotation names."""
    return [info for info in classes[:1] if info.category_id is None]


def _model(base: ModelConfig, counts: Mapping[str, tuple[int | None, int | None]], out: Path) -> dict[str, Any]:
    """The base's, with these numbers also where it leaves them to a default or a folder; paths start at the config."""
    model = base.content["model"]
    result: dict[str, Any] = _recounted(model, counts)
    before, after = counts[CLASS_COUNT]
    if CLASS_COUNT not in model and before != after and takes_argument(model["type"], CLASS_COUNT):
        result[CLASS_COUNT] = after
    whole = {name: value for name, value in located_model(base).items() if value != model[name]}
    return {**result, **{name: relative_to_file(path, out) for name, path in whole.items()}}


def _recounted(section: Any, counts: Mapping[str, tuple[int | None, int | None]]) -> Any:
    """A section with other numbers of classes and keypoints, wherever it has those of the base."""
    if isinstance(section, Mapping):
        return {
            key: after
            if (pair := counts.get(key)) and (after := pair[1]) is not None and pair[0] in (None, value)
            else _recounted(value, counts)
            for key, value in section.items()
        }
    if not isinstance(section, list | tuple):
        return section
    return type(section)(_recounted(entry, counts) for entry in section)


def _evaluator(base: ModelConfig, counts: Mapping[str, tuple[int | None, int | None]]) -> dict[str, Any] | None:
    """The base's, or its task's, for as many classes and keypoints: these all have the deviation of its first."""
    section = base.content.get("evaluator")
    if section is None:
        if base.task.metric is None:
            return None
        takes = signature(METRICS.get(base.task.metric)).parameters
        section = {"type": base.task.metric, **({CLASS_COUNT: counts[CLASS_COUNT][0]} if CLASS_COUNT in takes else {})}
    result: dict[str, Any] = _recounted(section, counts)
    points = counts[POINT_COUNT][1]
    if points is not None and result.get("sigmas"):
        result["sigmas"] = (result["sigmas"][0],) * points
    return result


def _recipe(base: ModelConfig, count: int) -> dict[str, Any]:
    """A short training from the base's weights; from random ones, where they are not here, as long as the base's."""
    recipe = dict(base.train or {})
    optimizer = dict(recipe.get("optimizer", {"type": "AdamW", "lr": 1e-3, "weight_decay": 0.02}))
    iterations = max(LEAST_ITERATIONS, PASSES * count // BATCH_SIZE)
    weights = start_weights(base)
    if weights is not None:
        usual = signature(OPTIMIZERS[optimizer["type"]]).parameters["lr"].default
        optimizer["lr"] = SLOWER * optimizer.get("lr", usual)
    else:
        iterations = max(iterations, recipe.get("iterations", 0))
    return {
        "iterations": iterations,
        "batch_size": BATCH_SIZE,
        "scale": recipe.get("scale", (1.0, 1.0)),
        "optimizer": optimizer,
        "warmup": min(recipe.get("warmup", 50), int(WARMUP * iterations)),
        **({} if weights is None else {"load_from": weights}),
        "patience": PATIENCE,
    }
