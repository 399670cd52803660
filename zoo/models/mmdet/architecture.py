"""The model that an mmdetection config describes, with random weights, and no network."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from mmengine.config import Config, ConfigDict
from mmengine.model.utils import revert_sync_batchnorm
from mmengine.registry import DefaultScope
from torch import nn

from zoo.codebases.as_deployed import as_deployed
from zoo.codebases.config import type_name
from zoo.codebases.mmcv_ext import stand_in
from zoo.errors import BackendUnavailableError, InputError
from zoo.optional_library import optional_library

EXTRA, USE = "mmdet", "an MmdetDetector"
SCOPE = "mmdet"
PREPROCESSOR = "data_preprocessor"
ABSENT = "is not in the"
WHOLE_MASKS = ("mask_head", "panoptic_head")
"""Attributes of models with masks of the whole image; the mask heads of boxes are in the RoI head."""
WITH_TEACHER = ("KnowledgeDistillationSingleStageDetector", "LAD")
"""Detectors that learn from another one, which is a part of neither their checkpoint nor their inference."""
STUDENT = "SingleStageDetector"
LACK_LOSS = ("SSDHead",)
"""Heads whose predict fails in mmdet 3.3.0 for want of the attribute loss_cls, of which None is enough."""


def model_section(config: str | Path | Mapping[str, Any]) -> dict[str, Any]:
    """The section `model` of an mmdetection config: given itself, or the path of the file that has it.

    Such a file is Python, and runs when it is read. Keys that name weights and teachers are left out, and batch norms
    that several GPUs share become plain ones. Raises InputError for a file that cannot be read, or has no model.
    """
    section = config if isinstance(config, Mapping) else _read(Path(config))
    deployed: dict[str, Any] = as_deployed(section)
    return student_of(deployed) if type_name(deployed.get("type")) in WITH_TEACHER else deployed


def student_of(section: Mapping[str, Any]) -> dict[str, Any]:
    """A section `model` of WITH_TEACHER without its teacher."""
    own = {key: value for key, value in section.items() if not key.startswith("teacher_") and key != "eval_teacher"}
    return {**own, "type": STUDENT}


def build_detector(section: Mapping[str, Any]) -> nn.Module:
    """mmdetection's own model of a section `model`, in eval mode, with random weights.

    Raises BackendUnavailableError without mmdet or mmcv, and for a part that another library registers.
    """
    for name in ("mmcv", "mmdet"):
        optional_library(name, EXTRA, USE)
    stand_in.provide()
    registry: Any = import_module("mmdet.registry")
    try:
        with DefaultScope.overwrite_default_scope(SCOPE):
            model: nn.Module = registry.MODELS.build(ConfigDict(section))
    except KeyError as error:  # mmengine's, for a type that nothing imported has registered
        if ABSENT not in str(error):
            raise
        line = " ".join(str(error.args[0]).split()).partition(". ")[0]
        raise BackendUnavailableError(f"{USE} needs a part of another library: {line}") from error
    head: Any
    for head in model.modules():
        if type(head).__name__ in LACK_LOSS and not hasattr(head, "loss_cls"):
            head.loss_cls = None
    return revert_sync_batchnorm(model).eval()  # type: ignore[no-any-return]


def check_masks(model: Any, *, whole: bool) -> None:
    """Raises InputError for a model with masks of the whole image where others are expected, or the other way round."""
    kind = type(model).__name__
    has_whole = any(getattr(model, name, None) is not None for name in WHOLE_MASKS)
    if has_whole and not whole:
        raise InputError(
            f"{kind} gives masks of the whole image, which a detector would lose; build it as an "
            "MmdetInstanceSegmentor, for the task InstanceMasks"
        )
    if whole and not has_whole:
        raise InputError(f"{kind} gives no masks of the whole image; build it as an MmdetDetector")


def _read(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        raise InputError(f"{path}: no such file; give the path of an mmdetection config")
    try:
        content = Config.fromfile(str(path))
    except Exception as error:  # a config is code, and raises whatever it likes
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"{path}: not a readable mmdetection config: {reason}") from error
    section = content.get("model")
    if not isinstance(section, Mapping):
        raise InputError(f'{path}: no section "model"; give an mmdetection config')
    beside = {PREPROCESSOR: content[PREPROCESSOR]} if PREPROCESSOR in content else {}  # as mmengine's Runner takes it
    return {**beside, **section}
