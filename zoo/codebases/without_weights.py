"""Sections of a codebase's config without the weights that a training starts from."""

from collections.abc import Mapping
from typing import Any

NOT_FOLLOWED = ("init_cfg", "pretrained")
"""What names such weights: a deployment's checkpoint has all of them, and nothing is downloaded."""


def without_weights(value: Any) -> Any:
    """A section, or a list of them, without these keys at any depth."""
    if isinstance(value, Mapping):
        return {key: without_weights(one) for key, one in value.items() if key not in NOT_FOLLOWED}
    if isinstance(value, list | tuple):
        return type(value)(without_weights(one) for one in value)
    return value
