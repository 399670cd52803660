"""The `train` section of a config."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from pipeline.training.recipe_values import (
    OWN_DATA,
    cloud_values,
    default_interval,
    generated_data_values,
    image_values,
    own_data_values,
    pretraining_values,
    recipe_values,
)
from zoo.arguments import wrong_arguments
from zoo.config import ModelConfig
from zoo.datasets.training.kinds import samples_of
from zoo.errors import InputError

SIZE = "size"  # what a recipe takes from the preprocessing
DATA = "train_dataset"  # what it takes from beside the section
PLACES = {SIZE: f"preprocess.{SIZE}", DATA: DATA}  # in a config, of what is not in its section


@dataclass(frozen=True)
class Pretraining:
    """How a backbone is trained first, as a classifier of patches of `side` pixels."""

    iterations: int
    batch_size: int
    side: int
    lr: float


@dataclass(frozen=True)
class Recipe:
    """How a model is trained. Sizes are (height, width) in pixels.

    `crop`: the side of a training tensor, by default the preprocessing's size; it stands for that where images keep
    their own. `scale`: range of the random factor upon the letterbox's scale, or upon a photograph's own size.
    `num_scenes`: training images of digits; None: crops of photographs. `optimizer`: torch's optimizer and its
    arguments; the rate rises over `warmup` iterations and falls by a half cosine. `backbone`: a safetensors file of
    another digits model whose backbone to start from. `pretrain`: or train the backbone first as a classifier of single
    digits, dict(iterations, batch_size, side, lr).
    `also`: configs that use the same checkpoint and are scored on its card.
    With data of one's own (`train_dataset`) there are neither num_scenes nor pretrain, and these are: `load_from`, the
    weights to start from, as a config's checkpoint is given; layers of another shape, a head for other classes, start
    anew. `val_interval`: iterations between two validations, by default a tenth of all. `patience`: after as many
    validations without a better figure training stops; None: never. `mirror`: whether half of the samples are mirrored.
    `turn`: of point clouds, degrees by which a sample is turned at most; they have neither crop nor size.
    `train_dataset`: the config's section of that name, of data of one's own alone.
    Paths are relative to the config's folder.
    """

    iterations: int
    batch_size: int
    optimizer: dict[str, Any]
    crop: tuple[int, int] | None = None
    size: tuple[int, int] | None = None
    scale: tuple[float, float] = (1.0, 1.0)
    num_scenes: int | None = 1500
    seed: int = 0
    warmup: int = 100
    max_grad_norm: float = 10.0
    backbone: str | None = None
    pretrain: Pretraining | None = None
    also: tuple[str, ...] = field(default_factory=tuple)
    load_from: str | None = None
    val_interval: int | None = None
    patience: int | None = None
    mirror: bool | None = None
    turn: float | None = None
    train_dataset: dict[str, Any] | None = None

    @classmethod
    def from_config(
        cls,
        config: ModelConfig,
        *,
        iterations: int | None = None,
        seed: int | None = None,
        load_from: str | None = None,
    ) -> Self:
        """The recipe of a config, with other iterations, another seed and other weights where they are given.

        Raises InputError where it has none, or with all that is wrong in it.
        """
        section, path = dict(config.train or {}), config.path
        if section and load_from is not None:
            section["load_from"] = load_from
        if "config" in section:
            raise InputError(
                f"config {path} uses the checkpoint of another one; run zooport train {path.parent / section['config']}"
            )
        if not section:
            raise InputError(f"config {path} has no recipe; give it a train=dict(iterations=..., batch_size=..., ...)")
        is_sized, is_own = samples_of(config.task.kind).sized, config.train_dataset is not None
        size = config.preprocess.size if is_sized else None
        if is_own:
            defaults = {"num_scenes": None, "val_interval": default_interval(section, iterations)}
            section |= {key: value for key, value in defaults.items() if section.get(key) is None}
        scenes = section.get("num_scenes", cls.num_scenes)
        if is_sized and size is None and (scenes is not None or "crop" not in section):
            raise InputError(
                f"config {path}: training needs tensors of one size; give preprocess a size, or, for crops of "
                "photographs, num_scenes=None and a crop"
            )
        values: dict[str, Any] = {**({"crop": size} if is_sized else {}), **section}
        arguments = {key: value for key, value in values.items() if key != "pretrain"}
        faults = [*wrong_arguments(cls, arguments, (SIZE, DATA, "pretrain")), *recipe_values(arguments)]
        pretrain = section.get("pretrain")
        if isinstance(pretrain, dict):
            more_faults = [*wrong_arguments(Pretraining, pretrain), *pretraining_values(pretrain)]
            faults += [f"pretrain: {fault}" for fault in more_faults]
        elif pretrain is not None:
            faults.append(f'argument "pretrain": got {pretrain!r}, expected dict(iterations, batch_size, side, lr)')
        if pretrain is not None and scenes is None and not is_own:
            faults.append("pretrain: learns from digits; give num_scenes")
        faults += own_data_values(section) if is_own else generated_data_values(section)
        faults += image_values(arguments) if is_sized else cloud_values(section)
        if faults:
            raise InputError(f"config {path}: train: {'; '.join(faults)}")
        pairs: dict[str, Any] = {
            key: tuple(values[key]) for key in ("crop", "scale", "also") if values.get(key) is not None
        }
        requested = {key: value for key, value in (("iterations", iterations), ("seed", seed)) if value is not None}
        first = None if pretrain is None else Pretraining(**pretrain)
        fields: dict[str, Any] = {
            **arguments,
            **pairs,
            **requested,
            "size": size or pairs.get("crop"),
            "pretrain": first,
            DATA: None if config.train_dataset is None else dict(config.train_dataset),
        }
        return cls(**fields)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types, as cards and checkpoints keep it; of what is for data of one's own alone, what is set."""
        content: dict[str, Any] = json.loads(json.dumps(asdict(self), default=_plain))
        return {key: value for key, value in content.items() if value is not None or key not in (*OWN_DATA, DATA)}


def _plain(value: Any) -> Any:
    """What a config may hold beside JSON's types: sets and paths."""
    return sorted(value) if isinstance(value, set | frozenset) else str(value)


def changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Words for the keys in which two recipes, as to_dict gives them, differ, but for the seed; else empty.

    Older records of data of one's own do not name it: there it is not compared.
    """
    passed_over = {"seed"} if DATA in before else {"seed", DATA}
    return ", ".join(
        f"{PLACES.get(key, f'train.{key}')} was {before.get(key)!r} and is {now.get(key)!r}"
        for key in dict.fromkeys((*before, *now))
        if key not in passed_over and before.get(key) != now.get(key)
    )
