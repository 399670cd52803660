"""Writing a config for data of one's own, beside the files that say what is learned and what is judged."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from mmengine.config import Config

from pipeline.training.own_config.content import measured_elsewhere, own_content, start_weights
from pipeline.training.own_config.layout import Layout, Section, find_layout
from pipeline.training.own_config.parts import labels_of, two_parts
from pipeline.training.own_config.request import DataRequest
from zoo.config import ModelConfig, load_config
from zoo.config.source import config_source
from zoo.datasets import EvaluationDataset, build_dataset
from zoo.errors import InputError
from zoo.files.relative import relative_to_file
from zoo.files.writing import write_whole
from zoo.tasks import ClassInfo, build_task

WEIGHTS = Path("work_dirs") / "train"  # as `zooport train` has it
PARTS = ("train", "val")


@dataclass(frozen=True)
class OwnConfig:
    """What was written, and lines on what the user should know of it.

    `annotations`: what says what is learned, and what is judged. `images`: how many.
    """

    path: Path
    annotations: tuple[Path, Path]
    classes: tuple[str, ...]
    images: tuple[int, int]
    notes: tuple[str, ...]


def write_config(request: DataRequest) -> OwnConfig:
    """Write the request's `out`, which trains a model like the base's on its data.

    Where neither the request nor the layout says what is to be judged, every fifth image is, and the lists of both
    parts are written beside `out`. Raises InputError with all faults of the data, or where it cannot be written.
    """
    layout, base, out = find_layout(request), request.base, request.out
    kind = layout.type_for(base)
    classes = layout.classes(request, kind)
    parts = _parts(request, layout, kind, classes)
    learned, judged = (len(labels) for labels in parts.labels)
    content = own_content(
        *(base, classes, [_relative(section, out) for section in parts.sections], out),
        count=learned,
        num_keypoints=getattr(parts.dataset, "num_points", None),
        checkpoint=WEIGHTS / out.stem / "best.safetensors",
    )
    notes = tuple(_notes(base, classes, [*parts.labels[0], *parts.labels[1]]))
    name = f"{base.name} for the {len(classes)} classes of {request.data.name}."
    text = config_source(name, notes, content)
    load_config(Config(content, cfg_text=text, filename=str(out)))  # as it will be read
    texts = {**parts.texts, out: text}
    _write(texts, replaced=_others(texts, (request.data, request.val, request.base.path)) if request.force else ())
    return OwnConfig(out, parts.sources, tuple(info.name for info in classes), (learned, judged), notes)


class _Parts(NamedTuple):
    """What is learned and what is judged: the data sets' sections, what says so, and the labels of their images.

    `dataset`: the first of them. `texts`: new files.
    """

    sections: tuple[Section, Section]
    sources: tuple[Path, Path]
    labels: tuple[list[Counter[int]], list[Counter[int]]]
    dataset: EvaluationDataset
    texts: Mapping[Path, str]


def _parts(request: DataRequest, layout: Layout, kind: str, classes: Sequence[ClassInfo]) -> _Parts:
    """Of the layout, or of the request's `val`, or every fifth image."""
    whole = layout.section(request, request.data, kind)
    sections = layout.parts(request, kind)
    if sections is None and request.val is not None:
        sections = whole, layout.section(request, request.val, kind)
    if sections is not None:
        sources = request.data, request.val or request.data
        first, second = (_dataset(request.base, section, classes) for section in sections)
        return _Parts(sections, sources, (_labels(first, sources[0]), _labels(second, sources[1])), first, {})
    dataset = _dataset(request.base, whole, classes)
    labels = _labels(dataset, request.data)
    places = two_parts(labels, str(request.data))
    train, val = (request.out.with_name(f"{request.out.stem}_{part}{layout.suffix}") for part in PARTS)
    (learned, train_text), (judged, val_text) = (
        layout.part(whole, dataset, some, file) for some, file in zip(places, (train, val), strict=True)
    )
    of_parts = [labels[place] for place in places[0]], [labels[place] for place in places[1]]
    return _Parts((learned, judged), (train, val), of_parts, dataset, {train: train_text, val: val_text})


def _dataset(base: ModelConfig, section: Section, classes: Sequence[ClassInfo]) -> EvaluationDataset:
    """All of its files, checked."""
    infos = [{"name": info.name, "category_id": info.category_id} for info in classes]
    return build_dataset(section, build_task({"type": type(base.task).__name__, "classes": infos}))


def _labels(dataset: EvaluationDataset, file: Path) -> list[Counter[int]]:
    """Those of each image. Raises InputError where there are none at all."""
    labels = labels_of(dataset)
    if not any(labels):
        raise InputError(f"{file}: no objects in {len(dataset)} images, which are there to train on or to validate on")
    return labels


def _relative(section: Section, out: Path) -> Mapping[str, Any]:
    """As the config has it: paths start at its folder."""
    return {name: relative_to_file(value, out) if isinstance(value, Path) else value for name, value in section.items()}


def _notes(base: ModelConfig, classes: Sequence[ClassInfo], labels: Sequence[Counter[int]]) -> list[str]:
    """Lines for the user, and for the head of the file."""
    total = sum(labels, Counter())
    has_objects = "boxes" in base.task.truth
    notes = [f"{sum(total.values())} objects in {len(labels)} images" if has_objects else f"{len(labels)} images"]
    if empty := sum(not image for image in labels):
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
