"""The scales of a data set of photographs that were made smaller."""

from collections.abc import Sequence

from zoo.errors import InputError


def checked_scales(dataset: str, scale: int | None, scales: Sequence[int] | None) -> tuple[int, ...]:
    """The one scale, or all of them. Raises InputError where both or none are given, and for what is no scale."""
    if (scale is None) == (scales is None):
        raise InputError(f"{dataset}: got scale {scale} and scales {scales}, expected one of the two")
    checked = tuple(scales or ()) if scale is None else (scale,)
    if not checked or not all(type(one) is int and one >= 1 for one in checked):
        raise InputError(f"{dataset}: got scales {checked}, expected integers, 1 or more")
    return checked
