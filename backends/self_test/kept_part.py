"""Which part of a graph's outputs a self-test keeps, so that it stays small: the same on every machine."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.tasks.output_role import BOX_FORMS, OutputRole, Roles

Array = NDArray[Any]
Arrays = Mapping[str, Array]

VALUES = 4096
"""Of one tensor, and of all rows of one image together."""
LEAST_ROWS = 8
GOLDEN = 0x9E3779B1  # 2 ** 32 over the golden ratio: its multiples are spread evenly, and meet no stride of a tensor


def are_detections(outputs: Arrays, roles: Roles) -> bool:
    """Whether they are the padded detections of level final."""
    return name_of(OutputRole.COUNT, outputs, roles) is not None


def row_names(outputs: Arrays, roles: Roles) -> tuple[str, ...]:
    """The tensors [N, P, ...] whose rows are candidates, in an order that rounding may change."""
    if are_detections(outputs, roles):
        return ()
    rows = tuple(name for name in outputs if roles.get(name) is OutputRole.ROW)
    has_boxes = any(roles.get(name) in BOX_FORMS for name in outputs)
    return tuple(outputs) if not rows and has_boxes else rows


def name_of(role: OutputRole, outputs: Arrays, roles: Roles) -> str | None:
    """The first of the outputs that has the role."""
    return next((name for name in outputs if roles.get(name) is role), None)


def sampled(size: int, count: int = VALUES) -> NDArray[np.int64]:
    """`count` places among `size` (below 2 ** 32), spread evenly, in rising order; all of them where they are fewer."""
    if size <= count:
        return np.arange(size)
    multiples = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(GOLDEN) & np.uint64(0xFFFFFFFF)
    return np.unique(multiples * np.uint64(size) >> np.uint64(32)).astype(np.int64)


def kept_values(output: Array) -> Array:
    """Of a tensor, [n]."""
    return output.reshape(-1)[sampled(output.size)]


def kept_rows(outputs: Arrays, image: int, roles: Roles) -> NDArray[np.int64]:
    """The places of some rows of an image, in rising order: of those that are in use, half with the best scores."""
    width = sum(output[0, 0].size for output in outputs.values() if output.shape[1])
    count = max(LEAST_ROWS, VALUES // max(1, width))
    flat = {name: output[image].reshape(len(output[image]), -1) for name, output in outputs.items()}
    used = np.flatnonzero(np.any([np.any(rows != 0, axis=1) for rows in flat.values()], axis=0))
    scores = name_of(OutputRole.SCORES, outputs, roles)
    if used.size <= count or scores is None:
        return used[sampled(used.size, count)]
    best = used[np.argsort(-flat[scores][used].max(axis=1), kind="stable")[: count // 2]]
    return np.union1d(best, used[sampled(used.size, count // 2)])
