"""What zooport knows of mmdetection."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from zoo.codebases.codebase import Codebase, Translation, register_codebase
from zoo.codebases.config import CodebaseConfig, type_name
from zoo.codebases.data_preprocessor import batch_divisor
from zoo.codebases.mmdet.datasets import category_ids, dataset_sections
from zoo.codebases.mmdet.tasks import DETECTION, IMAGE_MASKS, task_of
from zoo.codebases.preprocessing import BYTES, preprocess_of
from zoo.codebases.values import COUNT, SECTION, read
from zoo.errors import InputError

BATCH = (1, 2, 4)
PAD, NORMALIZE = "Pad", "Normalize"
IN_THE_MODEL = ("mean", "std", "channel_order")
"""Of `preprocess`: the model's data_preprocessor does it."""
MODELS = {IMAGE_MASKS: "MmdetInstanceSegmentor"}
"""The type of zooport's model, by the task, where it is none of a detector."""
HEADS = ("roi_head", "bbox_head", "mask_head", "panoptic_head")
COUNTS = ("num_classes", "num_things_classes")


@register_codebase
class Mmdet(Codebase):
    """Detection and instance segmentation, by the library itself."""

    scope: ClassVar[str] = "mmdet"
    preprocessors: ClassVar[frozenset[str]] = frozenset({"DetDataPreprocessor"})

    def translate(self, config: CodebaseConfig, preprocess: Mapping[str, Any] | None = None) -> Translation:
        """The section `model` as it is, but for what a training alone needs."""
        model = {key: value for key, value in config.model.items() if key not in ("train_cfg", "data_preprocessor")}
        whole = preprocess_of(config)
        model = {**model, "train_cfg": None, "data_preprocessor": _preprocessor(config, whole)}
        task = task_of(config)
        has_masks = task["type"] != DETECTION
        ends = _ends(config, whole, task)
        preprocess = {key: value for key, value in (preprocess or whole).items() if key not in IN_THE_MODEL}
        content: dict[str, Any] = {
            "model": {"type": MODELS.get(task["type"], "MmdetDetector"), "config": model},
            "task": task,
            "preprocess": preprocess,
            "export": {"inputs": {"batch": BATCH, **ends}},
        }
        sections, note = dataset_sections(config, with_masks=has_masks)
        count = class_count(config)
        notes = {} if note is None else {"export": note}
        backbone = read(model, "backbone", SECTION, f"{config.path}: model", {})
        what = f"{type_name(config.model.get('type'))} on {type_name(backbone.get('type', 'a backbone'))}"
        return Translation(what, content | sections, count, category_ids(config, count), notes)


def _preprocessor(config: CodebaseConfig, preprocess: Mapping[str, Any]) -> dict[str, Any]:
    """The model's own, which also does what a transform Normalize would have done before it."""
    if not any(type_name(transform.get("type")) == NORMALIZE for transform in config.pipeline):
        return dict(config.preprocessor)
    in_rgb = preprocess.get("channel_order", "rgb") == "rgb"
    mean, std = (tuple(BYTES * value for value in preprocess[key]) for key in ("mean", "std"))
    return {**config.preprocessor, "mean": mean, "std": std, "bgr_to_rgb": in_rgb}


def _ends(config: CodebaseConfig, preprocess: Mapping[str, Any], task: Mapping[str, Any]) -> dict[str, bool]:
    """Images that the data preprocessor pads end before their tensor, and boxes are clipped there, before NMS.

    What a transform pads belongs to the image.
    """
    pads = any(type_name(transform.get("type")) == PAD for transform in config.pipeline)
    is_padded = "size" not in preprocess and batch_divisor(config) > 1 and not pads
    return {"image_sizes": True} if is_padded and task["type"] != IMAGE_MASKS else {}


def class_count(config: CodebaseConfig) -> int:
    """How many classes the last head has. Raises InputError where the config does not say so."""
    for key in HEADS:
        for section, name in _counts(config.model.get(key)):
            count: int = read(section, name, COUNT, f"{config.path}: model.{key}")
            return count
    raise InputError(
        f"{config.path}: model {type_name(config.model.get('type'))}: no num_classes in {', '.join(HEADS)}: zooport "
        "takes detectors whose head gives a class to each object; add it to the head, or use another detector"
    )


def _counts(value: Any) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Every section within a section that has a number of classes, and its key there, the outermost first."""
    if isinstance(value, Mapping):
        yield from ((value, key) for key in COUNTS if value.get(key) is not None)
        for one in value.values():
            yield from _counts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _counts(one)
