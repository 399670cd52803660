"""All that is known of one config of the zoo."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.cards.measured_card import Measured
from zoo.cards.training_record import TrainingRecord
from zoo.input_kinds import InputKind


@dataclass(frozen=True)
class Card:
    """What a config says of itself, what was measured of it, and how its weights were made.

    `kind`: of what the model takes. `what`, `paper` and `licence` are empty where the config has no card. `dataset` and
    `recipe` are its sections `dataset` and `train`. `measured` is kept where it is stale; None, also where all is well:
    nobody measured weights that are not shipped. `training`: None where no record of it lies beside the weights.
    `problem`: one line that says why the card is not what it should be, and how to fix it; None where all is well.
    """

    config: str
    task: str
    kind: InputKind
    what: str
    paper: str
    licence: str
    checkpoint: str | None
    dataset: Mapping[str, Any]
    recipe: Mapping[str, Any]
    measured: Measured | None
    training: TrainingRecord | None
    problem: str | None

    @property
    def name(self) -> str:
        """The config's file name without its ending."""
        return Path(self.config).stem

    @property
    def state(self) -> str:
        """One of "measured", "stale", "not measured", "not measured here" and "no card"."""
        if not self.what:
            return "no card"
        if self.measured is None:
            return "not measured here" if self.problem is None else "not measured"
        return "measured" if self.problem is None else "stale"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "config": self.config,
            "name": self.name,
            "task": self.task,
            "input_kind": self.kind.name,
            "what": self.what,
            "paper": self.paper,
            "licence": self.licence,
            "checkpoint": self.checkpoint,
            "dataset": dict(self.dataset),
            "recipe": dict(self.recipe),
            "state": self.state,
            "problem": self.problem,
            "measured": None if self.measured is None else self.measured.to_dict(),
            "training": None if self.training is None else self.training.to_dict(),
        }
