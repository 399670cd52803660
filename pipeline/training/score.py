"""A model's figure on its config's data set, in eager PyTorch."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mmengine.config import Config
from torch import nn

from pipeline.training.checkpoint_card import Datasets
from pipeline.training.training_run import config_name
from zoo.config import load_config
from zoo.contract import contract_module
from zoo.datasets.building import build_dataset
from zoo.datasets.evaluation_dataset import INPUTS
from zoo.errors import InputError
from zoo.metrics import build_metric
from zoo.preprocess import Preprocess
from zoo.tasks import build_task

BATCH_SIZE = 8
Progress = Callable[[int, int], None]


def scored_on(path: Path, also: Iterable[str]) -> Datasets:
    """The data sets that `score_all` scores on, by config: each config's section, and how many "images" it has.

    They are read and checked for that. Raises InputError for what is wrong with a config, its data set or evaluator.
    """
    found = {}
    for other in (path, *(path.parent / name for name in also)):
        config = load_config(other)
        if "dataset" not in config or "evaluator" not in config:
            raise InputError(f"config {other} cannot be scored: it needs dataset=dict(...) and evaluator=dict(...)")
        images = len(build_dataset(config.dataset, build_task(config.task)))
        build_metric(config.evaluator)
        found[config_name(other)] = {**config.to_dict()["dataset"], "images": images}
    return found


def score_all(
    path: Path, also: Iterable[str], model: nn.Module, *, progress: Progress | None = None
) -> dict[str, dict[str, float]]:
    """For the config at `path`, and those beside it that use its weights, by config: what `score` gives."""
    figures = {}
    for other in (path, *(path.parent / name for name in also)):
        config = load_config(other)
        if "test_cfg" in config.model:
            model.test_cfg = dict(config.model.test_cfg)  # type: ignore[assignment]  # all that differs between them
        figures[config_name(other)] = score(config, model, progress=progress)
    return figures


def score(
    config: Config, model: nn.Module, *, limit: int | None = None, progress: Progress | None = None
) -> dict[str, float]:
    """The evaluator's figures, in points 0..100 or dB, of the model on the config's data set, with its preprocessing.

    `limit`: the first images alone. `progress` is told (images done, images in all).
    """
    task = build_task(config.task)
    dataset = build_dataset(config.dataset, task)
    metric = build_metric(config.evaluator)
    preprocess = Preprocess.from_dict(config.preprocess)
    module = contract_module(model, task, "final", config.get("export", {}).get("forward", {}))
    names = [spec.name for spec in task.outputs("final")]
    count = len(dataset) if limit is None else min(limit, len(dataset))
    batch_size = BATCH_SIZE if preprocess.size is not None else 1  # images that keep their size share no tensor
    for start in range(0, count, batch_size):
        items: list[dict[str, Any]] = [dataset[index] for index in range(start, min(start + batch_size, count))]
        height, width = preprocess.geometry(*items[0]["image"].shape[:2]).tensor_size
        images = np.empty((len(items), 3, height, width), np.float32)
        settings = {**module.defaults, **items[0].get(INPUTS, {})}
        geometries = [preprocess.run(item["image"], out) for item, out in zip(items, images, strict=True)]
        with torch.inference_mode():
            outputs = module(
                torch.from_numpy(images), *(torch.tensor([settings[spec.name]]) for spec in module.settings)
            )
        arrays = {name: output.numpy() for name, output in zip(names, outputs, strict=True)}
        metric.process(items, task.results(arrays, geometries))
        if progress is not None:
            progress(start + len(items), count)
    figures: dict[str, float] = metric.evaluate(count)
    return figures
