"""What is known of one training, as it begins, goes on, and lies in its checkpoints."""

import platform
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from mmengine.device import get_device

from pipeline.training.recipe import Recipe, changed
from zoo.arguments import wrong_arguments
from zoo.cards import TrainingRun
from zoo.errors import InputError
from zoo.torch_file import read_torch_file

ROOT = Path(__file__).resolve().parents[2]
LAST = "last_checkpoint"  # mmengine's file with the name of the last checkpoint
RUN_KEY = "training"  # in the checkpoint's "meta"
CURE = "give a .pth that zooport train wrote"


def begin_run(config: Path, recipe: Recipe, *, amp: bool) -> TrainingRun:
    """A run in this process, on the device that mmengine takes."""
    on_gpu = get_device() == "cuda"
    return TrainingRun(
        config=config_name(config),
        seed=recipe.seed,
        iterations=0,
        minutes=0.0,
        threads=torch.get_num_threads(),
        device=torch.cuda.get_device_name() if on_gpu else get_device(),
        amp=amp,
        torch=torch.__version__.split("+")[0],
        python=platform.python_version(),
        recipe=recipe.to_dict(),
        began=datetime.now(UTC).isoformat(timespec="milliseconds"),
        resumed=0,
    )


def resume_run(run: TrainingRun, before: TrainingRun, seed: int | None) -> TrainingRun:
    """The run, of this process, as one that goes on where `before` stopped; `seed`: where one was requested.

    Raises InputError where that is another training: half of the data would be of each.
    """
    if seed not in (None, before.seed):
        raise InputError(f"--resume --seed {seed}: this training began with seed {before.seed}; leave out --seed")
    if run.amp and not before.amp:
        raise InputError("--resume --amp: this training began without it; leave out --amp, or train without --resume")
    if before.recipe is None or run.recipe is None:
        raise InputError(
            "--resume: this checkpoint does not name its recipe, because it was written before checkpoints did; train "
            "without --resume"
        )
    if difference := changed(_without_start(before.recipe), _without_start(run.recipe)):
        raise InputError(
            f"--resume: the recipe has changed since this training began: {difference}; put it back (--iters sets "
            "the iterations), or train without --resume"
        )
    kept = ("seed", "amp", "iterations", "minutes", "recipe", "backbone_sha256", "began")
    return replace(run, **{name: getattr(before, name) for name in kept}, resumed=(before.resumed or 0) + 1)


def _without_start(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """A recipe without the weights to start from, which a training that goes on no longer needs."""
    return {key: value for key, value in recipe.items() if key != "load_from"}


def read_run(checkpoint: Path) -> TrainingRun:
    """The run that wrote a checkpoint, up to there. Raises InputError where it is not of zooport train."""
    content: Any = read_torch_file(checkpoint)
    meta = content.get("meta") if isinstance(content, Mapping) else None
    facts = meta.get(RUN_KEY) if isinstance(meta, Mapping) else None
    if not isinstance(facts, Mapping):
        raise InputError(f"checkpoint {checkpoint} has no record of its training; {CURE}")
    faults = list(wrong_arguments(TrainingRun, {str(key): value for key, value in facts.items()}))
    if not isinstance(facts.get("recipe"), Mapping | None):
        faults.append("its recipe is not a mapping")
    if faults:
        raise InputError(
            f"checkpoint {checkpoint} has a record that zooport did not write: {'; '.join(faults)}; {CURE}"
        )
    return TrainingRun(**facts)


def last_checkpoint(work_dir: Path) -> Path:
    """Where a run that was interrupted goes on. Raises InputError where it had not come to its first checkpoint."""
    pointer = work_dir / LAST
    if not pointer.is_file():
        raise InputError(f"--resume: no checkpoint in {work_dir}; train without --resume, or give its --work-dir")
    # the name alone: mmengine writes the path as it was then, and the folder may have been moved
    if name := Path(pointer.read_text(encoding="utf-8").strip()).name:
        return work_dir / name
    # killed while it wrote the name: the checkpoint that it was about is the youngest
    return max(work_dir.glob("iter_*.pth"), key=lambda file: file.stat().st_mtime_ns, default=work_dir / "iter_1.pth")


def config_name(path: Path) -> str:
    """A config's path from the repository's root, where it is in there, so that it reads the same from everywhere."""
    full = path.resolve()
    return (full.relative_to(ROOT) if full.is_relative_to(ROOT) else path).as_posix()
