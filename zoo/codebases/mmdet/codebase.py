"""What zooport knows of mmdetection."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from zoo.codebases.codebase import Codebase, Translation, register_codebase
from zoo.codebases.config import CodebaseConfig, type_name
from zoo.codebases.mmdet.datasets import category_ids, dataset_sections
from zoo.codebases.mmdet.tasks import task_of
from zoo.codebases.preprocessing import preprocess_of
from zoo.errors import InputError

BATCH = (1, 2, 4)
IN_THE_MODEL = ("mean", "std", "channel_order")
"""Of `preprocess`: the model's data_preprocessor does it."""
HEADS = ("roi_head", "bbox_head", "mask_head")


@register_codebase
class Mmdet(Codebase):
    """Detection, by the library itself."""

    scope: ClassVar[str] = "mmdet"
    preprocessors: ClassVar[frozenset[str]] = frozenset({"DetDataPreprocessor"})

    def translate(self, config: CodebaseConfig) -> Translation:
        """The section `model` as it is, but for what a training alone needs."""
        model = {key: value for key, value in config.model.items() if key not in ("train_cfg", "data_preprocessor")}
        model = {**model, "train_cfg": None, "data_preprocessor": dict(config.preprocessor)}
        task = task_of(config)
        has_masks = task["type"] != "Detection"
        preprocess = {key: value for key, value in preprocess_of(config).items() if key not in IN_THE_MODEL}
        content: dict[str, Any] = {
            "model": {"type": "MmdetDetector", "config": model},
            "task": task,
            "preprocess": preprocess,
            "export": {"inputs": {"batch": BATCH}},
        }
        sections, note = dataset_sections(config, with_masks=has_masks)
        count = class_count(config)
        notes = {} if note is None else {"export": note}
        what = f"{type_name(config.model['type'])} on {type_name(model.get('backbone', {}).get('type', 'a backbone'))}"
        return Translation(what, content | sections, count, category_ids(config, count), notes)


def class_count(config: CodebaseConfig) -> int:
    """How many classes the last head has. Raises InputError where the config does not say so."""
    for key in HEADS:
        for count in _counts(config.model.get(key)):
            return count
    raise InputError(
        f"{config.path}: model {type_name(config.model.get('type'))}: no num_classes in {', '.join(HEADS)}: zooport "
        "takes detectors whose head gives a class to each object; add it to the head, or use another detector"
    )


def _counts(value: Any) -> Iterator[int]:
    """Every `num_classes` in a section, the outermost first."""
    if isinstance(value, Mapping):
        if isinstance(value.get("num_classes"), int):
            yield value["num_classes"]
        for one in value.values():
            yield from _counts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _counts(one)
