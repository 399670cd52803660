"""Writing a config for a COCO file of one's own, beside the two parts of its annotations."""

import json
import os
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from mmengine.config import Config

from pipeline.training.own_config.annotations import read_classes, split
from pipeline.training.own_config.content import dataset_type, measured_elsewhere, own_content, start_weights
from zoo.config import ModelConfig, load_config
from zoo.config.source import config_source
from zoo.datasets import EvaluationDataset, build_dataset
from zoo.errors import InputError
from zoo.files.writing import write_whole
from zoo.tasks import ClassInfo, build_task

WEIGHTS = Path("work_dirs") / "train"  # as `zooport train` has it


@dataclass(frozen=True)
class OwnConfig:
    """What was written, and lines on what the user should know of it."""

    path: Path
    annotations: tuple[Path, Path]
    classes: tuple[str, ...]
    images: tuple[int, int]
    notes: tuple[str, ...]


def write_config(
    base: ModelConfig, data: Path, images: Path, out: Path, *, val: Path | None = None, force: bool = False
) -> OwnConfig:
    """Write `out`, which trains a model like the base's on the COCO file `data` with the images in a folder.

    `val`: a COCO file to be judged on; without it every fifth image of `data` is, and both parts are written beside
    `out`. `force`: replace files that are there, but never `data` or `val`. Raises InputError with all faults of the
    data, or where it cannot be written.
    """
    kind, classes = dataset_type(base), read_classes(data)
    datasets = [_dataset(base, kind, images, file, classes) for file in (data, val) if file is not None]
    _check_objects(datasets, data, val)
    files = (data, val) if val is not None else (_beside(out, "train"), _beside(out, "val"))
    texts: dict[Path, str] = {}
    counts = [len(dataset) for dataset in datasets]
    if val is None:
        parts = split(data)
        texts |= {file: json.dumps(part, indent=1) + "\n" for file, part in zip(files, parts, strict=True)}
        counts = [len(part["images"]) for part in parts]
    sections = tuple(
        {"type": kind, "images": os.path.relpath(images, out.parent), "annotations": os.path.relpath(file, out.parent)}
        for file in files
    )
    content = own_content(
        *(base, classes, (sections[0], sections[1]), out),
        count=counts[0],
        num_keypoints=getattr(datasets[0], "num_points", None),
        checkpoint=WEIGHTS / out.stem / "best.safetensors",
    )
    notes = tuple(_notes(base, classes, datasets))
    name = f"{base.name} for the {len(classes)} classes of {data.name}."
    texts[out] = config_source(name, notes, content)
    load_config(Config(content, cfg_text=texts[out], filename=str(out)))  # as it will be read
    _write(texts, replaced=_others(texts, (data, val)) if force else ())
    return OwnConfig(out, files, tuple(info.name for info in classes), (counts[0], counts[1]), notes)


def _dataset(
    base: ModelConfig, kind: str, images: Path, annotations: Path, classes: Sequence[ClassInfo]
) -> EvaluationDataset:
    """The whole file, checked."""
    section = {"type": kind, "images": str(images), "annotations": str(annotations)}
    infos = [{"name": info.name, "category_id": info.category_id} for info in classes]
    return build_dataset(section, build_task({"type": type(base.task).__name__, "classes": infos}))


def _check_objects(datasets: Sequence[EvaluationDataset], data: Path, val: Path | None) -> None:
    for dataset, file in zip(datasets, (data, val), strict=False):
        if not any(_objects(dataset)):
            raise InputError(
                f"{file}: no objects in {len(dataset)} images, which are there to train on or to validate on"
            )


def _objects(dataset: EvaluationDataset) -> list[Counter[int]]:
    """The labels of the objects of each image, crowds apart."""
    truths = [dataset.truth(index) for index in range(len(dataset))]
    return [Counter(truth["labels"][np.equal(truth["iscrowd"], 0)].tolist()) for truth in truths]


def _notes(base: ModelConfig, classes: Sequence[ClassInfo], datasets: Sequence[EvaluationDataset]) -> list[str]:
    """Lines for the user, and for the head of the file."""
    objects = _objects(datasets[0])
    total = sum(objects, Counter())
    notes = [f"{sum(total.values())} objects in {len(objects)} images"]
    if empty := sum(not labels for labels in objects):
        notes.append(f"{empty} images have no objects: they are learned as background")
    if unseen := [info.name for label, info in enumerate(classes) if not total[label]]:
        notes.append(f"no objects of {', '.join(unseen)}: a model cannot learn them")
    sizes = base.content["preprocess"].get("size")
    if sizes is not None:
        notes.append(f"images are resized to {sizes[0]}x{sizes[1]} (height x width), as the base's: preprocess.size")
    if start_weights(base) is None:
        notes.append("the base has no weights on this machine: training starts from random ones, and takes longer")
    if arguments := list(measured_elsewhere(base.content["model"])):
        notes.append(f"{', '.join(arguments)}: the base's, and chosen for its data; check that your objects fit")
    return notes


def _beside(out: Path, part: str) -> Path:
    return out.with_name(f"{out.stem}_{part}.json")


def _others(files: Iterable[Path], sources: Iterable[Path | None]) -> list[Path]:
    """The files that are none of the sources."""
    kept = {source.resolve() for source in sources if source is not None}
    return [file for file in files if file.resolve() not in kept]


def _write(texts: dict[Path, str], replaced: Collection[Path]) -> None:
    """All files, the config last. Raises InputError where one is there already, or cannot be written."""
    for file in texts:
        if file.exists() and file not in replaced:
            raise InputError(f"{file}: this file already exists; give another --out, or --force to replace it")
    try:
        for file, text in texts.items():
            write_whole(file, text, make_folders=True)
    except OSError as error:
        raise InputError(f"{error.filename}: cannot be written ({error.strerror}); give another --out") from error
