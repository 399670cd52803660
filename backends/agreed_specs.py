"""The tensors that a runner is opened with, beside those of its file."""

from collections.abc import Iterable
from pathlib import Path

from zoo.errors import InputError
from zoo.tensor_spec import TensorSpec


def agreed_specs(
    path: Path, side: str, actual: Iterable[TensorSpec], requested: Iterable[TensorSpec] | None
) -> tuple[TensorSpec, ...]:
    """`requested`, which must be among those of the file; the file's own where it is None.

    `path` and `side` ("input" or "output") are for the message. `actual`: the file's; () is the shape of one that says
    none. Raises InputError where a name, a dtype or a size that both sides know differs.
    """
    actual = tuple(actual)
    if requested is None:
        return actual
    specs = tuple(requested)
    by_name = {spec.name: spec for spec in actual}
    for spec in specs:
        if not _agree(by_name.get(spec.name), spec):
            raise InputError(
                f"{path}: got the {side}s {', '.join(map(str, actual))}; expected {spec}; the file is not the one "
                "that was described: export it again"
            )
    return specs


def _agree(actual: TensorSpec | None, requested: TensorSpec) -> bool:
    """Whether dtypes and numbers of axes are equal, and sizes where both sides know them."""
    if actual is None or actual.dtype != requested.dtype:
        return False
    if not actual.shape:
        return True
    return len(actual.shape) == len(requested.shape) and all(
        one == other or isinstance(one, str) or isinstance(other, str)
        for one, other in zip(actual.shape, requested.shape, strict=True)
    )
