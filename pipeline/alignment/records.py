"""What an alignment found, as immutable records; `to_dict` gives them the form of --json."""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.alignment.figures import Figures
from pipeline.parity.records import ComparedConstant
from zoo.comparison import Findings

EQUAL, SET, DIFFERS, UNKNOWN = "equal", "equal as a set", "differs", "not comparable"
_ORDER = (DIFFERS, SET, EQUAL, UNKNOWN)  # of two images' verdicts the first counts
ITSELF = "(the model's own forward)"


@dataclass(frozen=True)
class Pair:
    """A tensor of the graph beside PyTorch's.

    `name`: the modules whose nodes make it of the pairs `behind` it, "a + b" where several do or the exporter folded
    one into the other. `modules`: the same one by one. `role`: the module or mark it was paired by, and how.
    `behind`: the nearest tensors before it that were compared. `shape`: PyTorch's.
    """

    name: str
    modules: tuple[str, ...]
    role: tuple[str, str]
    tensor: str
    verdict: str
    shape: tuple[int, ...] = ()
    graph_shape: tuple[int, ...] = ()
    figures: Figures | None = None
    note: str = ""
    behind: tuple[str, ...] = ()

    def __add__(self, other: "Pair") -> "Pair":
        """Of two images."""
        worse = min(self, other, key=lambda pair: _ORDER.index(pair.verdict))
        both = [pair.figures for pair in (self, other) if pair.figures is not None]
        return dataclasses.replace(worse, figures=both[0] + both[1] if len(both) == 2 else next(iter(both), None))  # noqa: PLR2004 - of both


@dataclass(frozen=True)
class Alignment:
    """`pairs` in graph order. `outputs`: the contract's outputs, by the rules and gates of parity.

    `threshold`: of Figures.relative. `absent`: modules that ran and have no pair, with the reason. `notes`: what else a
    reader must know. `changed`: how far the graph's outputs are apart with and without the extra ones, 0.0 where all
    bits are the same; None where none were added. `by_pieces`: whether engines of pieces were compared, and not tensors
    of one run. `last`: the modules between the last compared tensors and the graph's outputs.
    `constants`: of the graph that differ from PyTorch's.
    """

    pairs: tuple[Pair, ...]
    threshold: float
    images: tuple[str, ...]
    outputs: Findings | None = None
    absent: Mapping[str, str] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    changed: float | None = None
    by_pieces: bool = False
    last: str = ""
    constants: tuple[ComparedConstant, ...] = ()

    @property
    def differing(self) -> tuple[Pair, ...]:
        """Past the threshold, in graph order."""
        return tuple(pair for pair in self.pairs if pair.verdict == DIFFERS)

    def is_culprit(self, pair: Pair) -> bool:
        """Whether everything that was compared before it is equal, so that it differs by itself."""
        verdicts = {other.tensor: other.verdict for other in self.pairs}
        return pair.verdict == DIFFERS and all(verdicts.get(name) != DIFFERS for name in pair.behind)

    @property
    def first(self) -> Pair | None:
        """The first pair past the threshold whose inputs are equal; where there is none, the first past it."""
        culprits = [pair for pair in self.differing if self.is_culprit(pair)]
        return next(iter((*culprits, *self.differing)), None)

    @property
    def first_name(self) -> str | None:
        """Of the first module that differs: that of the first pair, or what is behind the last one."""
        if self.first is not None:
            return self.first.name
        if self.constants:
            return self.constants[0].module or ITSELF
        return None if self.passed else self.last or None

    @property
    def passed(self) -> bool:
        """Whether something was compared, and nothing differs: no pair, no constant, no output by parity's gates."""
        if self.differing or self.constants:
            return False
        return self._compared > 0 if self.outputs is None else not self.outputs.failures

    @property
    def _compared(self) -> int:
        return sum(pair.verdict in (EQUAL, SET) for pair in self.pairs)

    @property
    def verdict(self) -> str:
        """In one line."""
        pair, count = self.first, self._compared
        if pair is not None:
            error = "" if pair.figures is None else f", relative error {pair.figures.relative:.2g}"
            role = (
                "its inputs are equal, so it is the culprit" if self.is_culprit(pair) else "its inputs differ as well"
            )
            return f"first module past {self.threshold:g}: {pair.name}{error}; {role}"
        if self.constants:
            return (
                f"all {count} pairs are within {self.threshold:g}, and {self.first_name} has another constant: "
                f"{self.constants[0].words}"
            )
        if not self.passed and self.outputs is not None:
            return (
                f"all {count} pairs are within {self.threshold:g}, and the outputs are not: what differs is in "
                f"{self.last or 'nothing but the outputs'}, behind the last pair, or is what the backend makes of the "
                f"whole graph (--by-pieces); {self.outputs.failures[0]}"
            )
        if not self.passed:
            return "nothing was compared: no tensor of the graph is of a module; give a file that zooport exported"
        return f"no module is past {self.threshold:g}; {count} pairs of tensors compared"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "verdict": self.verdict,
            "passed": self.passed,
            "first": self.first_name,
            "culprit": self.first is not None and self.is_culprit(self.first),
            "threshold": self.threshold,
            "images": list(self.images),
            "pairs": [_plain(dataclasses.asdict(pair)) | {"culprit": self.is_culprit(pair)} for pair in self.pairs],
            "output_failures": [] if self.outputs is None else list(self.outputs.failures),
            "constants": [constant.words for constant in self.constants],
            "absent": dict(self.absent),
            "notes": list(self.notes),
            "outputs_changed_by_extra_outputs": self.changed,
            "by_pieces": self.by_pieces,
        }


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
