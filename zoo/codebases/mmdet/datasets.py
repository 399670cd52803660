"""mmdetection's data sets as zooport's, and the ids of their classes in the annotations."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zoo.codebases.config import CodebaseConfig, type_name
from zoo.codebases.values import SECTION, read

COCO = "CocoDataset"
COCO_GAPS = (12, 26, 29, 30, 45, 66, 68, 69, 71, 83)
"""Ids up to 90 that no class of COCO's annotations has."""
NO_DATASET = "mmdetection's {kind} has no counterpart in zooport: add dataset and evaluator for zooport evaluate."
IDS = "For an evaluation, category_id must be the ids of your annotations."


def category_ids(config: CodebaseConfig, count: int) -> Sequence[int]:
    """Of the 80 classes of COCO those of its annotations; of others, counted from 1."""
    is_coco = type_name(config.dataset.get("type", "")) == COCO and not config.class_names
    ids = [index for index in range(1, 91) if index not in COCO_GAPS]
    return ids if is_coco and count == len(ids) else list(range(1, count + 1))


def dataset_sections(config: CodebaseConfig, *, with_masks: bool) -> tuple[dict[str, Any], str | None]:
    """The sections `dataset` and `evaluator` of the test's data, and what the reader must know."""
    dataset = config.dataset
    kind, root = type_name(dataset.get("type", "")), dataset.get("data_root") or ""
    if not kind or "ann_file" not in dataset:
        return {}, None
    if kind != COCO:
        return {}, NO_DATASET.format(kind=kind)
    prefix = read(dataset, "data_prefix", SECTION, f"{config.path}: test data set", {})
    folder = Path(str(root))
    section = {
        "type": "CocoInstances" if with_masks else "CocoDetection",
        "images": str((folder / str(prefix.get("img", ""))).resolve()),
        "annotations": str((folder / str(dataset["ann_file"])).resolve()),
    }
    return {"dataset": section, "evaluator": {"type": "CocoMaskAP" if with_masks else "CocoBoxAP"}}, IDS
