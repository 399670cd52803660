"""What is known of one training: kept in its checkpoints, and told on the card."""

import platform
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

import torch
from mmengine.device import get_device

from zoo.errors import InputError

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, kw_only=True)
class TrainingRun:
    """`config`: as a reader in the repository would type it. `minutes`: by the clock, pre-training included.

    `iterations`: done so far. `threads`: of the CPU. `device`: "cpu", or the name of the GPU. `remark`: words for the
    card, about what the figures do not tell.
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

    @classmethod
    def beginning(cls, config: Path, *, seed: int, amp: bool, remark: str | None = None) -> Self:
        """A run in this process, on the device that mmengine takes."""
        on_gpu = get_device() == "cuda"
        return cls(
            config=config_name(config),
            seed=seed,
            iterations=0,
            minutes=0.0,
            threads=torch.get_num_threads(),
            device=torch.cuda.get_device_name() if on_gpu else get_device(),
            amp=amp,
            torch=torch.__version__.split("+")[0],
            python=platform.python_version(),
            remark=remark,
        )

    def after(self, before: "TrainingRun", seed: int | None) -> Self:
        """The run that goes on in this process where `before` stopped; `seed`: where one was asked for.

        Raises InputError where that is another one: half of the data would be of each.
        """
        if seed not in (None, before.seed):
            raise InputError(f"--resume --seed {seed}: this training began with seed {before.seed}; leave out --seed")
        return replace(self, seed=before.seed, amp=before.amp, iterations=before.iterations, minutes=before.minutes)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as the constructor takes them; minutes to one decimal."""
        return {**asdict(self), "minutes": round(self.minutes, 1)}


def config_name(path: Path) -> str:
    """A config's path from the repository's root, where it is in there, so that it reads the same from everywhere."""
    full = path.resolve()
    return (full.relative_to(ROOT) if full.is_relative_to(ROOT) else path).as_posix()
