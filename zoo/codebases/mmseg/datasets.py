"""mmseg's data sets as zooport's, and what the pixels of their label maps mean."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from zoo.codebases.config import CodebaseConfig, type_name
from zoo.codebases.values import SECTION, TEXT, read

KINDS = {"CityscapesDataset": "Cityscapes", "ADE20KDataset": "ADE20K", "PascalVOCDataset": "VOCSegmentation"}
ZERO_IGNORED = ("ADE20KDataset", "PascalContextDataset59", "ISPRSDataset", "PotsdamDataset", "LoveDADataset")
"""Data sets whose label maps begin at 1, with `reduce_zero_label` on if nothing says otherwise."""
NO_DATASET = "mmseg's {kind} has no counterpart in zooport: add dataset and evaluator for zooport evaluate."

OTHER_CLASSES = (
    "The config chooses its classes of {kind} itself: check that category_id are the values of the label maps, and add "
    "dataset and evaluator for zooport evaluate."
)


def chosen_kind(config: CodebaseConfig) -> str:
    """The type of a data set that is one of KINDS, and whose classes the config names itself; else empty."""
    kind = type_name(config.dataset.get("type", ""))
    return kind if kind in KINDS and config.class_names else ""


def category_ids(config: CodebaseConfig, count: int, known: Sequence[str]) -> list[int | None]:
    """The value of each class in the label maps: its place, or one more where mmseg takes 0 off.

    `known`: the classes of that type of data set, as mmseg has them. Of some of them, or of another order, their places
    among these.
    """
    first = 1 if _reduces_zero(config) else 0
    names = config.class_names
    places = [known.index(name) for name in names] if len(names) == count and set(names) <= set(known) else range(count)
    return [first + place for place in places]


def dataset_sections(config: CodebaseConfig, count: int, known: Sequence[str]) -> tuple[dict[str, Any], str | None]:
    """The sections `dataset` and `evaluator` of the test's data, of `count` classes, and what the reader must know.

    Nothing for a set without a folder, nor for one whose label maps have values that are not known for the classes.
    """
    dataset = config.dataset
    where = f"{config.path}: test data set"
    kind, root = type_name(dataset.get("type", "")), read(dataset, "data_root", TEXT, where, None)
    if not kind or root is None:
        return {}, None
    if kind not in KINDS:
        return {}, NO_DATASET.format(kind=kind)
    if config.class_names and not (len(config.class_names) == count and set(config.class_names) <= set(known)):
        return {}, OTHER_CLASSES.format(kind=kind)
    prefix = read(dataset, "data_prefix", SECTION, where, {})
    section: dict[str, Any] = {"type": KINDS[kind], "root": str(Path(root).resolve())}
    if kind == "PascalVOCDataset":
        section["split"] = Path(str(dataset.get("ann_file", "val.txt"))).stem
    else:
        section["split"] = Path(str(prefix.get("img_path", ""))).name or "val"
    if kind == "CityscapesDataset":
        section["labels"] = "labelTrainIds"
    if config.class_names and set(config.class_names) < set(known):
        section["others_ignored"] = True  # as mmseg does
    return {"dataset": section, "evaluator": {"type": "MeanIoU", "num_classes": count}}, None


def _reduces_zero(config: CodebaseConfig) -> bool:
    """As the data set says, else the loading of annotations, else by the type of the data set."""
    dataset: Mapping[str, Any] = config.dataset
    if "reduce_zero_label" in dataset:
        return bool(dataset["reduce_zero_label"])
    for transform in config.pipeline:
        if type_name(transform.get("type")) == "LoadAnnotations" and transform.get("reduce_zero_label") is not None:
            return bool(transform["reduce_zero_label"])
    return type_name(dataset.get("type", "")) in ZERO_IGNORED
