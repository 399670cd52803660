"""What a training comes to: its figures, and its weights kept, published, or compared with the published ones."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from zoo.errors import GateError, InputError
from zooport.terminal import open_console, show_counts, write_line

if TYPE_CHECKING:
    from pipeline.training import Recipe
    from zoo.cards import Figures, Reproduction, TrainingRecord
    from zoo.config import ModelConfig


def keep(file: Path, weights: bytes) -> None:
    """Write the best weights as a file that a config's checkpoint names."""
    from zoo.files.writing import write_whole

    write_whole(file, weights, make_folders=True)
    write_line(f"weights: {file}")


def scored(path: Path, recipe: "Recipe", weights: bytes) -> "Figures":
    """The figures of a half-precision file, on the config and those that use the same weights."""
    from pipeline.training import score

    with TemporaryDirectory() as folder, quiet(), show_counts(open_console(), unit="inputs") as (_, count):
        checkpoint = Path(folder) / "weights.safetensors"
        checkpoint.write_bytes(weights)
        return score(path, recipe.also, checkpoint, progress=lambda _, done, total: count("score", done, total))


@contextmanager
def quiet() -> Iterator[None]:
    """The log is that of the training; the evaluation shows its progress."""
    logging.disable(logging.ERROR)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def show(figures: "Figures") -> None:
    """One line for each figure."""
    for config, row in figures.items():
        for metric, value in row.items():
            write_line(f"{config}: {metric} {'nothing to judge' if value is None else f'{value:.2f}'}")


def publish(file: Path, record: "TrainingRecord", weights: bytes) -> dict[str, Any]:
    """Weights and card; where they are, as data."""
    from pipeline.publishing.weights import publish_weights

    card = publish_weights(file, record.to_json(), weights)
    write_line(f"{file} ({len(weights)} bytes), card {card}")
    return {"checkpoint": str(file), "card": str(card)}


def compare(config: "ModelConfig", file: Path, published: "TrainingRecord", again: "Reproduction") -> dict[str, Any]:
    """Both figures and their difference; kept on the card, also where the gate is missed. Raises GateError.

    Raises InputError where other weights have been published while it was trained.
    """
    from pipeline.publishing.weights import publish_weights
    from pipeline.training import check_figures
    from zoo.cards import TrainingRecord
    from zoo.metrics import build_metric

    for name, row in again.figures.items():
        for metric, value in row.items():
            if value is None or (change := again.differences[name][metric]) is None:
                write_line(f"{name}: {metric} nothing to judge")
            else:
                write_line(f"{name}: {metric} {value:.2f}, published {value - change:.2f}, difference {change:+.2f}")
    card = TrainingRecord.read(file.with_suffix(".json"))  # other reproductions may have been recorded meanwhile
    if card.sha256 != published.sha256:
        raise InputError(f"{file}: other weights were published during this training; reproduce them again")
    path = publish_weights(file, card.with_reproduction(again).to_json())
    write_line(f"card: {path}")
    content = {"reproduction": again.to_dict(), "card": str(path)}
    try:
        assert config.evaluator is not None  # scored_on
        metric = build_metric(config.evaluator)
        check_figures(again, next(iter(again.figures)), metric.main_key, metric.unit)
    except GateError as error:
        error.data = content
        raise
    return content
