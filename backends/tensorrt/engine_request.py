"""What the process that builds an engine is asked for, as JSON."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from backends.engine_options import EngineOptions
from backends.profiles import Profile


@dataclass(frozen=True, kw_only=True)
class EngineRequest:
    """`onnx` and `plan` are absolute paths: what is read, and what is written. `parent`: the asker's pid.

    `values`: of inputs that decide shapes, the (min, opt, max) of their values.
    """

    backend: str
    onnx: str
    plan: str
    parent: int
    options: EngineOptions
    profiles: tuple[Profile, ...]
    values: Mapping[str, tuple[int, int, int]]

    def to_json(self) -> str:
        """The request as one JSON object."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The inverse of to_json."""
        fields = json.loads(text)
        fields["options"] = EngineOptions.from_dict(fields["options"])
        return cls(**fields)
