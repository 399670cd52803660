"""Building the zoo's models from configs. Needs torch and mmengine."""

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmengine.config import ConfigDict
from mmengine.registry import DefaultScope
from torch import nn

import zoo.models  # noqa: F401  # registers the models
from zoo.arguments import building, path_arguments
from zoo.checkpoint import load_checkpoint
from zoo.class_count import StateMismatchError, class_count_hint
from zoo.config import ConfigSource, ModelConfig, load_config
from zoo.downloads import refused_downloads
from zoo.entry_points import FAMILIES, entry_point_faults, load_entry_points
from zoo.errors import InputError, LibraryMissingError, nearest
from zoo.optional_library import missing_library
from zoo.registry import MODELS


def build_model(config: ConfigSource, checkpoint: str | Path | None = None, *, weights: bool = True) -> nn.Module:
    """The model of a config, in eval mode, with the config's weights or those of `checkpoint`.

    Without `weights` it keeps its random initialisation. A config's checkpoint, and each argument that the model's
    class takes as a path, is relative to the file that names it. Raises InputError for a faulty config, an unknown
    model type or argument, a checkpoint that does not fit, or a model that downloads something while it is built.
    """
    config = load_config(config)
    model = _built(config)
    if weights:
        source = config.weights if checkpoint is None else checkpoint
        if source is None:
            raise InputError(f"config {config.path} has no checkpoint; add the key or give --checkpoint FILE")
        _load(model, source, config)
    return model.eval()


def library_missing(config: ConfigSource) -> LibraryMissingError | None:
    """Why the model of a config cannot be built here: its type needs a library that is not installed. Else None.

    Raises InputError for a faulty config or an unknown model type.
    """
    kind = load_config(config).model["type"]
    return missing_library(_registered(kind), f"a {kind}")


def _load(model: nn.Module, source: str | Path, config: ModelConfig) -> None:
    """Weights of another number of classes are refused with the key of the config that says how many there are."""
    try:
        load_checkpoint(model, source)
    except StateMismatchError as error:
        hint = class_count_hint(config.model, error.shapes)
        if hint is None:
            raise
        raise StateMismatchError(f"{error}, or {hint}", error.shapes) from error


def located_model(config: ModelConfig) -> ConfigDict:
    """The section `model` with whole paths. Raises InputError for an unknown model type."""
    section = ConfigDict(config.model)
    made_of = _registered(section["type"])
    for name in path_arguments(made_of) if inspect.isclass(made_of) else ():
        if isinstance(path := section.get(name), str):
            section[name] = str(config.locate(path, "model", name))
    return section


def takes_argument(kind: str, name: str) -> bool:
    """Whether a model type has an argument of that name. Raises InputError for an unknown type."""
    return name in inspect.signature(_registered(kind)).parameters


def _built(config: ModelConfig) -> nn.Module:
    if (error := library_missing(config)) is not None:
        raise error
    return build_section(located_model(config))


def build_section(section: Mapping[str, Any], cure: str = "check the arguments of model") -> nn.Module:
    """The model of a section of a config, with random weights; paths in it start at the current folder.

    Types are zooport's own, whatever scope of registries a Runner of mmengine has set in this process. Raises
    InputError for whatever its builder raises, ending with `cure`, and for a model that downloads.
    """
    kind = section["type"]
    scope = DefaultScope.overwrite_default_scope(MODELS.scope)
    with building(f"model {kind}", cure), refused_downloads(f"model {kind}"), scope:
        model = MODELS.build(ConfigDict(section))
    if not isinstance(model, nn.Module):
        raise InputError(f"model {kind}: got a {type(model).__name__}, expected a torch.nn.Module")
    return model


def _registered(kind: str) -> Any:
    """The class or function of a model type. Raises InputError for an unknown one."""
    if kind not in MODELS.module_dict:
        load_entry_points(FAMILIES)
    try:
        registered = MODELS.get(kind)
    except RuntimeError:  # a dotted type that cannot be imported
        registered = None
    if registered is None:
        raise InputError(
            f'unknown model type "{kind}"; {nearest(kind, MODELS.module_dict)}{entry_point_faults(FAMILIES)}'
        )
    return registered
