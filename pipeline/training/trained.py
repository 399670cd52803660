"""Checkpoints of tools/train.py: weights that know which run they are of."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmengine.config import Config
from torch import nn

from pipeline.training.training_run import TrainingRun
from zoo.arguments import wrong_arguments
from zoo.build import build_model
from zoo.errors import InputError
from zoo.torch_file import read_torch_file

RUN_KEY = "training"  # in the checkpoint's "meta"
MEND = "give a .pth that tools/train.py wrote"


def load_trained(config: Config, checkpoint: Path) -> tuple[nn.Module, TrainingRun]:
    """The config's model with the weights of a checkpoint of `train`, and its run. Raises InputError."""
    run = read_run(checkpoint)
    return build_model(config, checkpoint), run


def read_run(checkpoint: Path) -> TrainingRun:
    """The run that wrote a checkpoint, up to there. Raises InputError where it is not of tools/train.py."""
    content: Any = read_torch_file(checkpoint)
    meta = content.get("meta") if isinstance(content, Mapping) else None
    facts = meta.get(RUN_KEY) if isinstance(meta, Mapping) else None
    if not isinstance(facts, Mapping):
        raise InputError(f"checkpoint {checkpoint} does not tell of its training; {MEND}")
    faults = list(wrong_arguments(TrainingRun, {str(key): value for key, value in facts.items()}))
    if not isinstance(facts.get("recipe"), Mapping | None):
        faults.append("its recipe is no mapping")
    if faults:
        raise InputError(f"checkpoint {checkpoint} tells of another training than ours: {'; '.join(faults)}; {MEND}")
    return TrainingRun(**facts)


def last_checkpoint(work_dir: Path) -> Path:
    """Where a run that was interrupted goes on. Raises InputError where it had not come to its first checkpoint."""
    pointer = work_dir / "last_checkpoint"
    if not pointer.is_file():
        raise InputError(f"--resume: no checkpoint in {work_dir}; train without --resume, or give its --work-dir")
    # the name alone: mmengine writes the path as it was then, and the folder may have been moved
    return work_dir / Path(pointer.read_text(encoding="utf-8").strip()).name
