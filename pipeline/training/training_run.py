"""What is known of one training: kept in its checkpoints, and told on the card."""

import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import torch
from mmengine.device import get_device

from pipeline.training.recipe import Recipe, changed
from zoo.errors import InputError

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, kw_only=True)
class TrainingRun:
    """`config`: as a reader in the repository would type it. `minutes`: by the clock, pre-training included.

    `iterations`: done so far. `threads`: of the CPU. `device`: "cpu", or the name of the GPU. `remark`: words for the
    card, about what the figures do not tell. `recipe`: the fields of Recipe. `backbone_sha256`: of the file that it
    started from. `began`: when, ISO 8601, UTC; tells runs apart. `resumed`: how often it went on after a stop. These
    are None for checkpoints that were written before they kept them.
    """

    config: str
    seed: int
    iterations: int
    minutes: float
    threads: int
    device: str
    amp: bool
    torch: str
    python: str
    remark: str | None = None
    recipe: Mapping[str, Any] | None = None
    backbone_sha256: str | None = None
    began: str | None = None
    resumed: int | None = None

    @classmethod
    def beginning(cls, config: Path, recipe: Recipe, *, amp: bool) -> Self:
        """A run in this process, on the device that mmengine takes."""
        on_gpu = get_device() == "cuda"
        return cls(
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

    def after(self, before: "TrainingRun", seed: int | None) -> Self:
        """The run that goes on in this process where `before` stopped; `seed`: where one was asked for.

        Raises InputError where that is another one: half of the data would be of each.
        """
        if seed not in (None, before.seed):
            raise InputError(f"--resume --seed {seed}: this training began with seed {before.seed}; leave out --seed")
        if self.amp and not before.amp:
            raise InputError("--resume --amp: this training began without it; leave out --amp, or train anew")
        if before.recipe is None or self.recipe is None:
            raise InputError(
                "--resume: this checkpoint does not tell its recipe, for it was written before checkpoints did; train "
                "anew without --resume"
            )
        if difference := changed(before.recipe, self.recipe):
            raise InputError(
                f"--resume: the recipe has changed since this training began: {difference}; put it back (--iters sets "
                "the iterations), or train anew without --resume"
            )
        kept = ("seed", "amp", "iterations", "minutes", "recipe", "backbone_sha256", "began")
        return replace(self, **{name: getattr(before, name) for name in kept}, resumed=(before.resumed or 0) + 1)

    def is_of(self, other: "TrainingRun") -> bool:
        """Whether both are the same training, whatever was remarked on it later."""
        if self.began is not None or other.began is not None:
            return self.began == other.began
        return replace(self, remark=None).to_dict() == replace(other, remark=None).to_dict()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as the constructor takes them; minutes to one decimal."""
        return {**asdict(self), "minutes": round(self.minutes, 1)}


def config_name(path: Path) -> str:
    """A config's path from the repository's root, where it is in there, so that it reads the same from everywhere."""
    full = path.resolve()
    return (full.relative_to(ROOT) if full.is_relative_to(ROOT) else path).as_posix()
