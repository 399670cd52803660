"""The part of a card that training writes: what the weights are, how they were made, and made again."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

from zoo.errors import InputError
from zoo.files.json_object import json_object

Figures = Mapping[str, Mapping[str, float | None]]  # config -> metric -> points 0..100 (or dB); None: nothing to judge
Datasets = Mapping[str, Mapping[str, Any]]  # config -> its data set's section, and "images", how many it has
WRITTEN_BY = "tools/train.py --publish"


@dataclass(frozen=True, kw_only=True)
class TrainingRun:
    """One training: kept in its checkpoints, and on the card.

    `config`: as a reader in the repository would type it. `minutes`: by the clock, pre-training included.
    `iterations`: done so far. `threads`: of the CPU. `device`: "cpu", or the name of the GPU. `remark`: words for the
    card, about what the figures do not tell. `recipe`: the fields of pipeline.training.Recipe. `backbone_sha256`: of
    the file that it started from. `began`: when, ISO 8601, UTC; tells runs apart. `resumed`: how often it went on after
    a stop. These four are None for checkpoints that were written before they kept them.
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

    def is_of(self, other: "TrainingRun") -> bool:
        """Whether both are the same training, whatever was remarked on it later."""
        if self.began is not None or other.began is not None:
            return self.began == other.began
        return replace(self, remark=None).to_dict() == replace(other, remark=None).to_dict()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as the constructor takes them; minutes to one decimal."""
        return {**asdict(self), "minutes": round(self.minutes, 1)}


@dataclass(frozen=True, kw_only=True)
class Reproduction(TrainingRun):
    """A training from scratch by the recipe, and what its weights score, rounded as the published ones are.

    `sha256`: of the file that publishing it would have made. `differences`: from the published weights, which were
    scored beside it.
    """

    sha256: str
    figures: Figures
    differences: Figures


@dataclass(frozen=True, kw_only=True)
class TrainingRecord:
    """Lies beside the weights as <name>.json.

    `file`: the name of the weights' file. `figures`: of the published weights, in eager PyTorch, on `datasets`, two
    decimals, for each config that uses them. `recipe`: the fields of pipeline.training.Recipe. `training`: the run that
    made them.
    """

    file: str
    bytes: int
    sha256: str
    parameters: int
    licence: str
    figures: Figures
    datasets: Datasets
    recipe: Mapping[str, Any]
    training: TrainingRun
    reproduced: tuple[Reproduction, ...] = ()

    @classmethod
    def read(cls, path: Path) -> Self:
        """Raises InputError: no such file, or it is not such a record."""
        try:
            content = json_object(path.read_bytes(), f"card {path}", f"expected what {WRITTEN_BY} writes")
            content["training"] = TrainingRun(**content["training"])
            content["reproduced"] = tuple(Reproduction(**entry) for entry in content["reproduced"])
            return cls(**content)
        except FileNotFoundError as error:
            raise InputError(f"card {path}: no such file; python tools/train.py CONFIG --publish writes it") from error
        except (KeyError, TypeError) as error:
            raise InputError(
                f"card {path} is not as {WRITTEN_BY} writes it: {type(error).__name__}: {error}"
            ) from error

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        content = {key: getattr(self, key) for key in self.__dataclass_fields__}
        return content | {
            "training": self.training.to_dict(),
            "reproduced": [entry.to_dict() for entry in self.reproduced],
        }

    def to_json(self) -> str:
        """The text of the file."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n"

    def with_reproduction(self, run: Reproduction) -> Self:
        """The record with one more run; one that made the same weights is replaced."""
        others = (entry for entry in self.reproduced if entry.sha256 != run.sha256)
        return replace(self, reproduced=(*others, run))
