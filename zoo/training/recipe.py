"""The `train` section of a config."""

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from mmengine.config import Config

from zoo.errors import InputError, nearest


@dataclass(frozen=True)
class Recipe:
    """How a model is trained. Sizes are (height, width) in pixels.

    `crop`: the side of a training tensor, by default the preprocessing's size. `scale`: range of the random factor upon
    the letterbox's scale. `num_scenes`: training pictures. `optimizer`: torch's optimizer and its arguments; the rate
    rises over `warmup` iterations and falls by a half cosine. `backbone`: a safetensors file of another digits model
    whose backbone to start from. `pretrain`: or train the backbone first as a classifier of single digits,
    dict(iterations, batch_size, side, lr).
    `also`: configs that use the same checkpoint and are scored on its card. Both are relative to the config's folder.
    """

    iterations: int
    batch_size: int
    optimizer: dict[str, Any]
    crop: tuple[int, int]
    size: tuple[int, int]
    scale: tuple[float, float] = (1.0, 1.0)
    num_scenes: int = 1500
    seed: int = 0
    warmup: int = 100
    max_grad_norm: float = 10.0
    backbone: str | None = None
    pretrain: dict[str, Any] | None = None
    also: tuple[str, ...] = field(default_factory=tuple)

    @classmethod
    def from_config(cls, config: Config, path: Path, *, iterations: int | None = None, seed: int | None = None) -> Self:
        """The recipe of a loaded config at `path`, with other iterations and another seed where they are given.

        Raises InputError where it has none, or an unknown key.
        """
        section = dict(config.get("train", {}))
        if "config" in section:
            raise InputError(
                f"config {path} uses the checkpoint of another one; run python tools/train.py "
                f"{path.parent / section['config']}"
            )
        if not section:
            raise InputError(f"config {path} has no recipe; give it a train=dict(iterations=..., batch_size=..., ...)")
        known = [entry.name for entry in fields(cls) if entry.name != "size"]
        for key in section:
            if key not in known:
                raise InputError(f'config {path}: unknown key train."{key}"; {nearest(key, known)}')
        for key in ("iterations", "batch_size", "optimizer"):
            if key not in section:
                raise InputError(f'config {path}: key train."{key}" is missing')
        size = tuple(config.preprocess["size"])
        given = {key: value for key, value in (("iterations", iterations), ("seed", seed)) if value is not None}
        return cls(**{"crop": size, **section, **given, "size": size})
