"""(f) Training with mixed precision on one GPU; the shipped detectors by a longer recipe."""

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from measured import shipped_configs

from gpu.kept import check_room
from gpu.lacks import no_torch_device
from gpu.stage import Cell, Findings, Place, Stage

if TYPE_CHECKING:
    from torch import nn

    from pipeline.training import Recipe
    from zoo.cards import TrainingRun
    from zoo.config import ModelConfig

TRIED = 60  # iterations, whose speed says how many fit the time
SCENES_TRIED = 32  # to learn from meanwhile
TIMES = 4  # the recipe's iterations at most
SCORING = 60.0  # seconds that are kept for it
BETTER = 2.0  # points, for weights to be kept
SMALL = """
train = dict(
    _delete_=True, iterations=2, batch_size=2, num_scenes=2, warmup=1, optimizer=dict(type="AdamW", lr=1e-3),
)
"""


def cells(place: Place) -> Iterator[Cell]:
    """Each detector by a longer recipe; then the speed of one with and without mixed precision, alone."""
    detectors = [config for config in shipped_configs() if Path(config).parent.name == "detection"]
    for config in place.one_or_all(detectors):
        yield Cell("longer recipe", Path(config).stem, partial(_longer, config), alone=False)
    yield Cell("speed", Path(detectors[0]).stem, partial(_speed, detectors[0]))


def _config(config: str, place: Place) -> "ModelConfig":
    """The config; in a rehearsal with a recipe of two iterations."""
    from gpu.deployments import rehearsed
    from zoo.config import load_config

    return load_config(rehearsed(config, place, SMALL))


def _trained(
    config: "ModelConfig", recipe: "Recipe", place: Place, name: str, *, amp: bool
) -> "tuple[nn.Module, TrainingRun, float]":
    """The model, its run, and the iterations per second once it had begun."""
    from pipeline.training import begin_run, train

    marks: list[tuple[float, int]] = []

    def progress(_what: str, done: int, _total: int) -> None:
        marks.append((time.perf_counter(), done))

    work_dir = place.scratch / "training" / config.name / name
    model, run = train(
        config, recipe, work_dir, begin_run(config.path, recipe, amp=amp), note=lambda _: None, progress=progress
    )
    trained = [mark for mark in marks if mark[1] >= marks[-1][1] // 2]  # past what is made once: kernels, caches
    (begin, first), (end, last) = trained[0], trained[-1]
    return model, run, (last - first) / (end - begin) if end > begin else 0.0


def _speed(config: str, place: Place, findings: Findings) -> None:
    from pipeline.training import Recipe

    loaded = _config(config, place)
    recipe = Recipe.from_config(loaded, iterations=place.some(TRIED))
    for name, amp in (("float32", False), ("mixed precision", True)):
        with findings.trying(name):
            _, run, speed = _trained(loaded, recipe, place, name, amp=amp)
            findings.add({"device": run.device, f"{name} iterations/s": speed})


def _longer(config: str, place: Place, findings: Findings) -> None:
    """As many iterations as fit the time, TIMES the recipe's at most; what the weights score beside the published."""
    from pipeline.training import Recipe, config_name, half_precision_file, score
    from zoo.metrics import build_metric

    begin, loaded = time.monotonic(), _config(config, place)
    recipe = Recipe.from_config(loaded)
    tried = replace(recipe, iterations=place.some(TRIED), num_scenes=place.some(SCENES_TRIED), pretrain=None)
    speed = _trained(loaded, tried, place, "trial", amp=True)[2]
    left = place.seconds - (time.monotonic() - begin) - SCORING
    iterations = min(TIMES * recipe.iterations, int(speed * left)) if not place.rehearsal else recipe.iterations
    findings.add({"iterations/s": speed, "recipe": recipe.iterations, "iterations": iterations})
    if iterations < recipe.iterations:
        findings.cannot_run(f"{left:.0f} s are left, enough for {iterations} iterations of {recipe.iterations}")
        return
    longer = replace(recipe, iterations=iterations)
    model, run, _ = _trained(loaded, longer, place, "longer", amp=True)
    weights = place.scratch / "training" / loaded.name / "longer.safetensors"
    weights.write_bytes(half_precision_file(model))
    main = build_metric(loaded.evaluator or {}).main_key
    figure = score(loaded.path, (), weights)[config_name(loaded.path)][main]
    findings.add({"minutes": run.minutes})
    if _is_better(config, main, figure, findings) or place.rehearsal:
        file = place.out / f"{loaded.name}.pth"
        check_room(file)
        _write_checkpoint(model, run, file)
        findings.add({"kept": file.name})


def _is_better(config: str, main: str, figure: float | None, findings: Findings) -> bool:
    """Than the published weights, whose figure is on their card, by BETTER."""
    from gpu.deployments import published

    before = published(config, main)
    difference = None if figure is None or before is None else figure - before
    findings.add({"metric": main, "published": before, "trained": figure, "difference": difference})
    return difference is not None and difference >= BETTER


def _write_checkpoint(model: "nn.Module", run: "TrainingRun", file: Path) -> None:
    """Weights in half precision, as they are published, and the record of their training; without the optimizer."""
    import torch

    from pipeline.training.training_run import RUN_KEY

    state = {f"model.{name}": t.half() if t.is_floating_point() else t for name, t in model.state_dict().items()}
    file.parent.mkdir(parents=True, exist_ok=True)
    torch.save({"state_dict": state, "meta": {RUN_KEY: run.to_dict()}}, file)


STAGE = Stage(
    6,
    "training",
    "Does training run in mixed precision, how fast, and are the detectors better by a longer recipe?",
    cells,
    no_torch_device,
    cell_seconds=470,
)
