"""What trained weights score: the evaluation of their config, and of those beside it that use them."""

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from pipeline.evaluating import evaluate
from pipeline.evaluation.plan import plan_evaluation
from pipeline.training.training_run import config_name
from zoo.cards import Figures
from zoo.cards.training_record import Datasets
from zoo.config import load_config
from zoo.errors import InputError
from zoo.progress import Progress
from zoo.target import REFERENCE_BACKEND

DECIMALS = 2


def scored_on(path: Path, also: Iterable[str]) -> Datasets:
    """The data sets that `score` scores on, by config: each config's section, and how many "images" it has.

    They are read and checked for that. Raises InputError for what is wrong with a config, its data set or evaluator.
    """
    datasets = {}
    for other in _configs(path, also):
        config = load_config(other)
        if config.dataset is None or config.evaluator is None:
            raise InputError(f"config {other} cannot be scored: it needs dataset=dict(...) and evaluator=dict(...)")
        plan = plan_evaluation(config, "", limit=None, gate_split=False)
        datasets[config_name(other)] = {**plan.section, "images": len(plan.dataset)}
    return datasets


def score(path: Path, also: Iterable[str], checkpoint: Path, *, progress: Progress | None = None) -> Figures:
    """The figures of a checkpoint in eager PyTorch, by config: of that at `path`, and of those named beside it.

    Two decimals, as a card has them; None where there was nothing to judge. `progress` is called with (name, images
    done, images in all). Raises InputError as `evaluate` does.
    """
    figures = {}
    for other in _configs(path, also):
        with TemporaryDirectory() as work_dir:
            evaluation = evaluate(
                other, [REFERENCE_BACKEND], checkpoint=checkpoint, work_dir=work_dir, progress=progress
            )
        figures[config_name(other)] = rounded(evaluation.rows[0].figures)
    return figures


def rounded(figures: Mapping[str, float]) -> Mapping[str, float | None]:
    """Two decimals; what is not a number (nothing to judge) becomes None."""
    return {metric: None if math.isnan(value) else round(value, DECIMALS) for metric, value in figures.items()}


def differences(figures: Figures, published: Figures) -> Figures:
    """How far each figure lies above the published one, in points; None where either is None."""
    return {
        config: {
            metric: None
            if value is None or (other := published[config][metric]) is None
            else round(value - other, DECIMALS)
            for metric, value in row.items()
        }
        for config, row in figures.items()
    }


def _configs(path: Path, also: Iterable[str]) -> Iterator[Path]:
    yield path
    yield from (path.parent / name for name in also)
