"""Sections of a codebase's config as a deployment needs them."""

from collections.abc import Mapping
from typing import Any

NOT_FOLLOWED = ("init_cfg", "pretrained", "teacher_ckpt")
"""What names weights that a training starts from, or learns from: a checkpoint has all that a deployment needs."""
SHARED_NORMS = ("SyncBN", "MMSyncBN")
"""Batch norms that several GPUs share: mmcv's own cannot even be built outside a distributed training."""


def as_deployed(value: Any) -> Any:
    """A section, or a list of them, at any depth without keys that name weights, and with plain batch norms."""
    if isinstance(value, Mapping):
        kept = {key: as_deployed(one) for key, one in value.items() if key not in NOT_FOLLOWED}
        return {**kept, "type": "BN"} if value.get("type") in SHARED_NORMS else kept
    if isinstance(value, list | tuple):
        return type(value)(as_deployed(one) for one in value)
    return value
