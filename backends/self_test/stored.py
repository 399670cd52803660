"""A self-test as it lies in a deployment: one input, and what is kept of the outputs that were proved."""

import io
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from backends.self_test.kept_part import kept_rows, kept_values, name_of, row_names
from zoo.errors import InputError
from zoo.input_kinds import InputKind
from zoo.tasks.output_role import OutputRole, Roles

Array = NDArray[Any]
SURE = "sure"
NO_BITS: NDArray[np.uint8] = np.zeros(0, np.uint8)


@dataclass(frozen=True)
class SelfTest:
    """`packed`: what the input kind makes inputs of the graph from, for images a PNG; `settings`: the graph's other
    inputs by name.

    `outputs`: what is kept of each, by name, see kept_part: detections in their slots, cut behind the last one of the
    batch; whole label maps; some values of a tensor [n]; some rows of candidates [n, v], those of all images one
    behind the other. `shapes`: of the whole outputs. `ranges`: largest minus smallest value of each that is a float,
    1 where that is 0. `rows`: the places of the kept rows, for each image. `sure`: bits, packed, of the pixels of a
    label map that PyTorch was sure of. `roles`: what the task says of its outputs; they are not stored.
    """

    packed: Mapping[str, Array]
    settings: Mapping[str, Array]
    outputs: Mapping[str, Array]
    shapes: Mapping[str, tuple[int, ...]]
    roles: Roles
    ranges: Mapping[str, float] = field(default_factory=dict)
    rows: tuple[NDArray[np.int64], ...] = ()
    sure: NDArray[np.uint8] = field(default_factory=lambda: NO_BITS)

    @classmethod
    def of(
        cls,
        packed: Mapping[str, Array],
        settings: Mapping[str, Array],
        outputs: Mapping[str, Array],
        roles: Roles,
        sure: NDArray[np.bool_] | None = None,
    ) -> Self:
        """From whole outputs, by name. `sure` bool [N, H, W]: of a label map; None for all of its pixels."""
        shapes = {name: output.shape for name, output in outputs.items()}
        ranges = {name: _range(output) for name, output in outputs.items() if output.dtype.kind == "f"}
        rows: tuple[NDArray[np.int64], ...] = ()
        count, label_map = (name_of(role, outputs, roles) for role in (OutputRole.COUNT, OutputRole.LABEL_MAP))
        if count is not None:
            most = max(1, int(outputs[count].max(initial=0)))
            kept = {name: output if name == count else output[:, :most] for name, output in outputs.items()}
        else:
            candidates = {name: outputs[name] for name in row_names(outputs, roles)}
            batch = len(next(iter(outputs.values()))) if candidates else 0
            rows = tuple(kept_rows(candidates, image, roles) for image in range(batch))
            kept = {
                name: _row_values(out, rows) if name in candidates else out if name == label_map else kept_values(out)
                for name, out in outputs.items()
            }
        bits = NO_BITS
        if label_map is not None:
            bits = np.packbits(np.ones(shapes[label_map], bool) if sure is None else sure)
        return cls(dict(packed), dict(settings), kept, shapes, roles, ranges, rows, bits)

    def inputs(self, kind: InputKind) -> dict[str, Array]:
        """The graph's inputs by name."""
        return {**kind.unpacked(self.packed), **self.settings}

    def rows_of(self, image: int) -> slice:
        """Where the kept rows of an image lie in `outputs`."""
        first = sum(len(places) for places in self.rows[:image])
        return slice(first, first + len(self.rows[image]))

    def to_bytes(self) -> bytes:
        """An .npz file: the same bytes for the same self-test."""
        arrays: dict[str, Array] = {**self.packed, SURE: self.sure}
        arrays |= {f"setting {name}": array for name, array in self.settings.items()}
        arrays |= {f"rows {image}": places for image, places in enumerate(self.rows)}
        for name, output in self.outputs.items():
            arrays |= {f"output {name}": output, f"shape {name}": np.array(self.shapes[name], np.int64)}
            arrays |= {f"range {name}": np.array(self.ranges[name])} if name in self.ranges else {}
        packed = io.BytesIO()
        np.savez_compressed(packed, **arrays)  # type: ignore[arg-type]  # no array is called allow_pickle
        return packed.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes, source: str, roles: Roles) -> Self:
        """The inverse, with the outputs' `roles`. Raises InputError, naming `source`, where it is no self-test."""
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as packed:
                arrays: dict[str, Array] = dict(packed)
            groups: dict[str, dict[str, Array]] = {}
            for key, array in arrays.items():
                group, _, name = key.partition(" ")
                groups.setdefault(group, {})[name] = array
            packed_input = {key: array for key, array in arrays.items() if " " not in key and key != SURE}
            shapes = {name: tuple(map(int, shape)) for name, shape in groups["shape"].items()}
            ranges = {name: float(spread) for name, spread in groups.get("range", {}).items()}
            rows = tuple(groups.get("rows", {}).values())
            settings = groups.get("setting", {})
            return cls(
                packed_input,
                settings,
                {name: groups["output"][name] for name in shapes},
                shapes,
                roles,
                ranges,
                rows,
                arrays[SURE],
            )
        except (KeyError, ValueError, TypeError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            reason = " ".join(str(error).split())
            raise InputError(f"{source}: not a self-test ({type(error).__name__}: {reason}); deploy again") from error


def _range(output: Array) -> float:
    return float(np.ptp(output.astype(np.float64))) or 1.0 if output.size else 1.0


def _row_values(output: Array, rows: tuple[NDArray[np.int64], ...]) -> Array:
    return np.concatenate([output[image, places].reshape(len(places), -1) for image, places in enumerate(rows)])
