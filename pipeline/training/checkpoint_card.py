"""The card of published weights as data: what they are, what they score, how they were made, and made again."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from pipeline.training.training_run import TrainingRun
from zoo.errors import InputError

Figures = Mapping[str, Mapping[str, float | None]]  # config -> metric -> points 0..100 (or dB); None: nothing to judge
Datasets = Mapping[str, Mapping[str, Any]]  # config -> its data set's section, and "images", how many it has
LICENCE = "Apache-2.0, as the rest of zooport; the training pictures' own licences are in zoo/data/digits/README.md"


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
class CheckpointCard:
    """Lies beside the weights as <name>.json; <name>.md is rendered from it.

    `file`: the name of the weights' file. `figures`: of the rounded weights, in eager PyTorch, on `datasets`. `recipe`:
    the fields of Recipe. `training`: the run that made them.
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
        """Raises InputError: no such file, or not a card."""
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            content["training"] = TrainingRun(**content["training"])
            content["reproduced"] = tuple(Reproduction(**entry) for entry in content["reproduced"])
            return cls(**content)
        except FileNotFoundError as error:
            raise InputError(f"card {path}: no such file; python tools/train.py CONFIG --publish writes it") from error
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"card {path} is not as tools/train.py --publish writes it: {type(error).__name__}: {error}"
            ) from error

    def to_json(self) -> str:
        """The text of the file."""
        content = {key: getattr(self, key) for key in self.__dataclass_fields__}
        content["training"] = self.training.to_dict()
        content["reproduced"] = [entry.to_dict() for entry in self.reproduced]
        return json.dumps(content, indent=2, allow_nan=False) + "\n"

    def with_reproduction(self, run: Reproduction) -> Self:
        """The card with one more run; one that made the same weights is replaced."""
        others = (entry for entry in self.reproduced if entry.sha256 != run.sha256)
        return replace(self, reproduced=(*others, run))


def rounded(figures: Mapping[str, Mapping[str, float]]) -> Figures:
    """Figures as a card has them: two decimals; what is not a number (nothing to judge) becomes None."""
    return {
        config: {metric: None if math.isnan(value) else round(value, 2) for metric, value in row.items()}
        for config, row in figures.items()
    }


def differences(figures: Figures, published: Figures) -> Figures:
    """How far each figure lies above the published one, in points; None where either is None."""
    return {
        config: {
            metric: None if value is None or (other := published[config][metric]) is None else round(value - other, 2)
            for metric, value in row.items()
        }
        for config, row in figures.items()
    }
