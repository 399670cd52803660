"""The segmentor that a section `model` of mmsegmentation describes, with random weights, and no network."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from mmengine.config import ConfigDict
from mmengine.model.utils import revert_sync_batchnorm
from mmengine.registry import DefaultScope
from torch import nn

from zoo.codebases.as_deployed import as_deployed
from zoo.codebases.mmcv_ext import stand_in
from zoo.errors import BackendUnavailableError, InputError
from zoo.optional_library import optional_library

EXTRA, USE = "mmseg", "an MmsegSegmentor"
SCOPE = "mmseg"
NOT_IN_TESTS = ("auxiliary_head", "train_cfg", "data_preprocessor")
"""Auxiliary heads never run in a test; images are normalised before they reach the model."""


def build_segmentor(section: Mapping[str, Any]) -> nn.Module:
    """mmsegmentation's own model, in eval mode. Batch norms that several GPUs share become plain ones.

    Raises InputError for a model of another kind, BackendUnavailableError without mmseg or mmcv.
    """
    for name in ("mmcv", "mmseg"):
        optional_library(name, EXTRA, USE)
    stand_in.provide()
    import_module("mmseg.models")  # registers them
    registry: Any = import_module("mmseg.registry")
    inference = {key: value for key, value in section.items() if key not in NOT_IN_TESTS}
    try:
        with DefaultScope.overwrite_default_scope(SCOPE):
            model: Any = registry.MODELS.build(ConfigDict(as_deployed(inference)))
    except ImportError as error:  # a head that another codebase has
        raise BackendUnavailableError(f"{USE} needs another library: {' '.join(str(error).split())}") from error
    if not hasattr(model, "encode_decode") or not hasattr(model, "out_channels"):
        raise InputError(f"{type(model).__name__} of mmsegmentation gives no logits of classes; give an EncoderDecoder")
    if model.out_channels == 1:
        raise InputError(f"{USE} with one output channel, which a threshold decides: give a head with num_classes")
    reverted: nn.Module = revert_sync_batchnorm(model)
    return reverted.eval()
