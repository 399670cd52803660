"""`timm:NAME`, or the folder that timm's save_for_hf wrote: a classifier."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from zoo.errors import InputError, nearest
from zoo.optional_library import optional_library
from zoo.own_model.classes import FLAG, UNNAMED, check_several, class_entries
from zoo.own_model.folder import CONFIG, check_fields, folder_config, folder_weights, foreign_arguments
from zoo.own_model.form import Description, LibraryForm, register_form
from zoo.own_model.request import ModelRequest
from zoo.own_model.resizing import resized, to_complete

NOT_OF_THE_CONFIG = ("in_chans", "num_classes")  # arguments that the config has otherwise
OF_PRETRAINED = (
    "The size, mean and std are those of timm's pretrained weights of this name. Replace them with those of your "
    "training."
)
OF_DEFAULTS = (
    "{source} does not say {fields}; timm's defaults stand for them. Replace them with those of your training."
)
NORMALIZATION = ("mean", "std")
DECIDE = ("input_size", "interpolation", "crop_pct", *NORMALIZATION)
"""The fields of pretrained_cfg that decide the preprocessing."""
SIZES = ("input_size", "crop_pct")  # those that --size replaces
NAMES = {"label_names": list, "labels": list}
FIELDS = {"num_classes": int, "pretrained_cfg": dict, "model_args": dict, **NAMES}
CHANNELS = 3


@register_form
class TimmForm(LibraryForm):
    """Preprocessing is that of the folder, or of timm's own pretrained weights of the name."""

    prefix: ClassVar[str] = "timm"
    example: ClassVar[str] = "timm:NAME"
    folder_key: ClassVar[str | None] = "architecture"
    flags: ClassVar[frozenset[str]] = frozenset({"weights", "classes", "size", "arguments"})

    def describe(self, request: ModelRequest, out: Any) -> Description:  # noqa: ARG002
        """A checkpoint's own tensors say how many classes there are."""
        saved = folder_config(request.source) or {}
        check_fields(saved, FIELDS, f"{request.source}/{CONFIG}")
        weights = folder_weights(request) if saved else request.weights_file
        name = str(saved["architecture"]) if saved else self.name(request.source)
        section: dict[str, Any] = {"type": "TimmClassifier", "architecture": name, **_arguments(saved, request)}
        pretrained = _pretrained(name, saved)
        check_fields(pretrained, NAMES, f"{request.source}/{CONFIG}: pretrained_cfg")
        if "num_classes" not in section:
            from zoo.checkpoint import read_state
            from zoo.own_model.fitting import fitting_value

            section["num_classes"] = fitting_value(section, "num_classes", read_state(weights), weights)
        check_several(section["num_classes"], str(weights))
        classes = request.classes or tuple(
            saved.get("label_names") or pretrained.get("label_names") or pretrained.get("labels") or ()
        )
        source = FLAG if request.classes else f"{request.source}: label_names"
        preprocess, note = _preprocess(pretrained, request)
        notes = {} if classes else {"task": UNNAMED}
        if text := " ".join([*([note] if note else []), *_origin(request, saved, pretrained)]):
            notes["preprocess"] = text
        task = {
            "type": "ImageClassification",
            "classes": class_entries(classes, section["num_classes"], str(weights), source=source),
        }
        what = f"timm's {name} with the weights of {weights.name}."
        return Description(what, {"model": section, "task": task, "preprocess": preprocess}, weights, notes)


def _arguments(saved: Mapping[str, Any], request: ModelRequest) -> dict[str, Any]:
    """Those of the model's constructor. Raises InputError for images that are not RGB."""
    arguments = saved.get("model_args") or {}
    if (channels := arguments.get("in_chans", CHANNELS)) != CHANNELS:
        raise InputError(
            f'{request.source}/{CONFIG}: "in_chans" is {channels}, expected 3: deployments take RGB images'
        )
    kept = {key: value for key, value in arguments.items() if key not in NOT_OF_THE_CONFIG and value is not None}
    count = {"num_classes": saved["num_classes"]} if "num_classes" in saved else {}
    return {**foreign_arguments(kept, f"{request.source}/{CONFIG}"), **count, **request.arguments}


def _pretrained(name: str, saved: Mapping[str, Any]) -> Mapping[str, Any]:
    """What timm knows of the weights: of the folder, or of its own of this name. Nothing is downloaded."""
    if saved:
        return saved.get("pretrained_cfg") or saved  # folders of earlier versions have its fields beside the others
    timm = optional_library("timm", "timm", f"timm:{name}")
    if ":" in name or not timm.is_model(name):
        raise InputError(f"timm:{name}: timm has no model of this name; {nearest(name, timm.list_models())}")
    try:
        known = timm.get_pretrained_cfg(name)
    except RuntimeError as error:  # of a tag that its architecture does not have
        tags = timm.list_pretrained(f"{name.partition('.')[0]}.*")
        raise InputError(f"timm:{name}: timm has no such weights of this model; {nearest(name, tags)}") from error
    return {} if known is None else known.to_dict()


def _preprocess(pretrained: Mapping[str, Any], request: ModelRequest) -> tuple[dict[str, Any], str | None]:
    """The section, and what the reader must know of it."""
    from zoo.preprocess_mapping import from_timm

    data = optional_library("timm.data", "timm", "this preprocessing")
    known = {"input_size": None, **pretrained}  # nothing at all is an error there
    fields: dict[str, Any] = data.resolve_data_config(pretrained_cfg=known)
    try:
        mapped = from_timm(fields)
    except InputError as error:
        normalization = {name: fields[name] for name in NORMALIZATION}
        return to_complete(request.source, str(error), request.size, normalization)
    return resized(mapped, request.size)


def _origin(request: ModelRequest, saved: Mapping[str, Any], pretrained: Mapping[str, Any]) -> Iterator[str]:
    """What the reader must know of where the preprocessing comes from, if not from a folder that has it all."""
    replaced = () if request.size is None else SIZES
    if missing := [name for name in DECIDE if not pretrained.get(name) and name not in replaced]:
        yield OF_DEFAULTS.format(source=request.source, fields=", ".join(missing))
    elif not saved and request.size is None:
        yield OF_PRETRAINED
