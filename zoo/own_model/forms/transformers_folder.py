"""The folder that transformers' save_pretrained wrote: architecture, weights, classes and preprocessing."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from zoo.errors import InputError
from zoo.files.json_object import json_object
from zoo.files.relative import relative_to_file
from zoo.own_model.classes import check_several, class_entries
from zoo.own_model.folder import CONFIG, folder_config, folder_out, folder_weights
from zoo.own_model.form import Description, Form, register_form
from zoo.own_model.request import ModelRequest
from zoo.own_model.resizing import resized, to_complete

PREPROCESSOR, PROCESSOR = "preprocessor_config.json", "processor_config.json"
IN_PROCESSOR = "image_processor"  # the key of the latter that has what the former holds
IDS = "The names are those of id2label. For an evaluation, category_id must be the ids of your annotations."
MISSING = f"no {PREPROCESSOR}, which image_processor.save_pretrained(folder) writes"
OTHERS = "For its other results give {flags}."


@register_form
class TransformersForm(Form):
    """The zoo's types of models say which architectures they take."""

    example: ClassVar[str] = "FOLDER"
    folder_key: ClassVar[str | None] = "model_type"
    flags: ClassVar[frozenset[str]] = frozenset({"weights", "classes", "task", "size"})

    def accepts(self, source: str) -> bool:
        """Whether it is a folder whose config.json has a model_type."""
        return self.folder_key in (folder_config(source) or ())

    def out(self, request: ModelRequest) -> Path:
        """By the folder's name."""
        return folder_out(request.source)

    def describe(self, request: ModelRequest, out: Path) -> Description:
        """What the files of the folder say, as the keys of a config."""
        folder, weights = Path(request.source), folder_weights(request)
        preprocess, note = _preprocess(folder, request)
        from zoo.models.transformers import read_architecture

        settings = read_architecture(folder)
        tasks = _tasks(folder, settings)
        kind, task = _chosen(tasks, request)
        _check_ids(settings, folder)
        names = request.classes or tuple(name for _, name in sorted(settings.id2label.items()))
        notes = {} if note is None else {"preprocess": note}
        if others := [name for name in tasks if name != task.__name__ and request.task is None]:
            notes["model"] = OTHERS.format(flags=" or ".join(f"--task {name}" for name in others))
        if task.has_classes:
            notes["task"] = IDS
        model = {"type": kind, "folder": relative_to_file(folder, out)}
        if task.chooses_a_class:
            check_several(int(settings.num_labels), str(folder / CONFIG))
        classes = {"classes": _classes(names, settings, folder)} if task.has_classes else {}
        what = f"{settings.architectures[0]} of transformers, from the folder {folder.resolve().name}."
        content = {"model": model, "task": {"type": task.__name__, **classes}, "preprocess": preprocess}
        return Description(what, content, weights, notes)


def _preprocess(folder: Path, request: ModelRequest) -> tuple[dict[str, Any], str | None]:
    from zoo.preprocess_mapping import from_transformers

    fields = _image_processor(folder)
    if fields is None:
        return to_complete(folder, MISSING, request.size)
    try:
        mapped = from_transformers(_named(fields, folder))
    except InputError as error:
        return to_complete(folder, str(error), request.size, _normalization(fields))
    return resized(mapped, request.size)


def _named(fields: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
    """With the class of the image processor, which old files leave to the model_type."""
    if fields.get("image_processor_type") or fields.get("feature_extractor_type"):
        return fields
    from zoo.models.transformers import image_processor_name

    return {**fields, "image_processor_type": image_processor_name(folder)}


def _normalization(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Mean and std where the file itself says that they are those of images of 0..1; nothing else is known here."""
    normalizes = fields.get("do_normalize") is True and fields.get("do_rescale") is True
    mean, std = fields.get("image_mean"), fields.get("image_std")
    if (
        not normalizes
        or fields.get("rescale_factor") != 1 / 255
        or not (isinstance(mean, list) and isinstance(std, list))
    ):
        return {}
    return {"mean": tuple(mean), "std": tuple(std)}


def _image_processor(folder: Path) -> Mapping[str, Any] | None:
    """What the folder says of its image processor; None where it says nothing."""
    cure = "write it again with image_processor.save_pretrained(folder)"
    if (path := folder / PROCESSOR).is_file():  # the newer one, which transformers itself prefers
        fields = json_object(path.read_bytes(), str(path), cure).get(IN_PROCESSOR)
        if isinstance(fields, dict):
            return fields
    path = folder / PREPROCESSOR
    return json_object(path.read_bytes(), str(path), cure) if path.is_file() else None


def _tasks(folder: Path, settings: Any) -> dict[str, str]:
    """The registered types that take the architecture, by their task. Raises InputError for none, with what there is.

    Of two types of one task the first.
    """
    from zoo.models.transformers import TransformersModel, takes
    from zoo.registry import MODELS

    kinds: dict[str, Any] = {
        name: kind
        for name, kind in MODELS.module_dict.items()
        if isinstance(kind, type) and issubclass(kind, TransformersModel)
    }
    if not settings.architectures:
        raise InputError(f'{folder / CONFIG}: no "architectures"; save the model itself: model.save_pretrained(folder)')
    tasks: dict[str, str] = {}
    for name, kind in kinds.items():
        if takes(settings, kind.heads):
            tasks.setdefault(kind.task, name)
    if tasks:
        return tasks
    purposes = ", ".join(sorted({kind.purpose for kind in kinds.values()}))
    raise InputError(
        f"{folder / CONFIG} describes {settings.architectures[0]}, for which zooport has no type: it takes {purposes}; "
        "for another purpose wrap the model in a module of your own, FILE.py:NAME (docs/own_model.md)"
    )


def _check_ids(settings: Any, folder: Path) -> None:
    if (ids := sorted(settings.id2label)) != list(range(len(ids))):
        raise InputError(
            f'{folder / CONFIG}: "id2label" has the ids {ids[0]} to {ids[-1]}, {len(ids)} in all, expected 0 to '
            f"{len(ids) - 1}: an id is the place among the model's scores; correct it"
        )


def _chosen(tasks: Mapping[str, str], request: ModelRequest) -> tuple[str, Any]:
    """The type and the task that are requested, else the first. Raises InputError for another task."""
    from zoo.tasks import find_task

    name = request.task or next(iter(tasks))
    if name not in tasks:
        raise InputError(
            f"--task {name} with {request.source}: the model is for {' or '.join(tasks)}; leave the flag out"
        )
    return tasks[name], find_task(name)


def _classes(names: tuple[str, ...], settings: Any, folder: Path) -> list[dict[str, Any]]:
    """Names of id2label may be there more than once."""
    if list(names) == [name for _, name in sorted(settings.id2label.items())]:
        return [{"name": str(name), "category_id": index} for index, name in enumerate(names)]
    return class_entries(names, int(settings.num_labels), str(folder / CONFIG))
