"""An architecture of transformers: what a config.json, or a mapping with its keys, describes.

It has random weights, and nothing is downloaded.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from zoo.downloads import refused_downloads
from zoo.errors import BackendUnavailableError, InputError, ZooportError, nearest
from zoo.files.json_object import json_object
from zoo.models.timm_files import NAMES_FILES, REASON
from zoo.optional_library import optional_library

CONFIG = "config.json"
EXTRA = "transformers"
CURE = "give the folder that model.save_pretrained(folder) wrote"
OF_TIMM = ("model_args", "backbone_kwargs")
Source = str | Path | Mapping[str, Any]
"""What describes an architecture: a folder with a config.json, or what such a file holds."""


def place(source: Source) -> str:
    """What messages call a source."""
    return "model.architecture" if isinstance(source, Mapping) else str(Path(source) / CONFIG)


def read_architecture(source: Source) -> Any:
    """The configuration that a source holds: transformers' PreTrainedConfig, read without a network.

    Raises InputError where the file is missing or is none of transformers', and BackendUnavailableError without the
    library.
    """
    where, content = place(source), _content(source)
    auto = optional_library("transformers", EXTRA, f"the model of {where}").models.auto
    kind = content.get("model_type")
    if not isinstance(kind, str):
        raise InputError(f'{where}: expected the key "model_type", as model.save_pretrained(folder) writes it')
    if kind not in auto.CONFIG_MAPPING:
        raise InputError(
            f'{where}: transformers has no model_type "{kind}"; {nearest(kind, auto.CONFIG_MAPPING.keys())}; a model '
            "whose code is not part of transformers is not loaded"
        )
    _check_weights_of_timm(content, where)
    names = content.get("architectures")
    if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise InputError(f'{where}: "architectures" is {json.dumps(names)}, expected a list of names; {CURE}')
    with library_errors(where), refused_downloads(f"the architecture of {where}"):
        if isinstance(source, Mapping):
            return auto.CONFIG_MAPPING[kind].from_dict(content)
        return auto.AutoConfig.from_pretrained(str(source), local_files_only=True, trust_remote_code=False)


def _check_weights_of_timm(fields: Mapping[str, Any], where: str) -> None:
    """Raises InputError where timm, which builds some models and backbones, would read a file that a config names."""
    for key, value in fields.items():
        if not isinstance(value, Mapping):
            continue
        if key in OF_TIMM and (named := next((name for name in NAMES_FILES if value.get(name)), None)):
            raise InputError(f'{where}: "{key}" has "{named}": {REASON}; remove it')
        _check_weights_of_timm(value, where)


def image_processor_name(folder: Path) -> str:
    """The class of image processors that transformers takes for the model of a folder whose files name none.

    Raises InputError where it has none, and BackendUnavailableError without the library.
    """
    what = f"the image processor of {folder}"
    auto = optional_library("transformers", EXTRA, what).models.auto
    with library_errors(what), refused_downloads(what), _quiet():
        processor = auto.AutoImageProcessor.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
    return type(processor).__name__


def _content(source: Source) -> dict[str, Any]:
    """Plain JSON types."""
    if isinstance(source, Mapping):
        content: dict[str, Any] = json.loads(json.dumps(source))
        return content
    path = Path(source) / CONFIG
    if not path.is_file():
        raise InputError(f"{path}: no such file; {CURE}")
    return json_object(path.read_bytes(), str(path), CURE)


def find_architecture(source: Source, heads: Sequence[str], purpose: str) -> tuple[type[nn.Module], Any]:
    """The class of the model that a source describes, and its settings; nothing is built.

    `heads`: the kinds of model that fit, as transformers names them ("OBJECT_DETECTION": those of its
    MODEL_FOR_OBJECT_DETECTION_MAPPING). `purpose`: what they are for, for the message. The config's own "architectures"
    decides where it names one of them, else its model_type does. Raises InputError for a model of another kind, and
    BackendUnavailableError where a library is missing.
    """
    settings = read_architecture(source)
    classes = _classes(settings, heads)
    named = [name for name in settings.architectures or () if isinstance(name, str)]
    chosen = [kind for kind in classes if kind.__name__ in named] if named else classes
    if not chosen:
        raise InputError(
            f"{place(source)} describes {', '.join(named) or settings.model_type}, which is not for {purpose}; "
            "give a model type for its task (docs/own_model.md)"
        )
    return chosen[0], settings


def build_architecture(source: Source, heads: Sequence[str], purpose: str, num_classes: int | None = None) -> nn.Module:
    """The model that a source describes, in eval mode, with random weights: nothing is downloaded.

    `num_classes`: how many classes it has, in the place of those that the source names. Raises as find_architecture,
    and InputError for a model that cannot be built.
    """
    kind, settings = find_architecture(source, heads, purpose)
    if num_classes is not None:
        settings.num_labels = num_classes
    with library_errors(place(source)):
        return kind(settings).eval()


def translated(model: Any, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A state dict as save_pretrained writes it, by the names of the model; what is missing in it is left out.

    Files have other names than modules in many architectures, and of tensors that two modules share they hold one:
    transformers' own loader knows both. Tensors that the model does not have are there by the names that its loader
    looked for, without their values where it renamed them.
    """
    kind = type(model)
    what = f"the weights of {kind.__name__}"
    with library_errors(what), refused_downloads(what), _quiet():
        loaded, report = kind.from_pretrained(
            None,
            config=model.config,
            state_dict=dict(state),
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # the caller compares the shapes
            dtype=next(model.parameters()).dtype,
        )
    left_out = {*report["missing_keys"]}
    tensors = {name: tensor for name, tensor in loaded.state_dict().items() if name not in left_out}
    for name, shape, _ in report["mismatched_keys"]:
        tensors[name] = tensors[name].new_zeros(shape)
    return {**tensors, **{name: state.get(name, torch.empty(0)) for name in report["unexpected_keys"]}}


@contextmanager
def library_errors(what: str) -> Iterator[None]:
    """Errors of transformers, which fill a screen, as one line of ours that begins with `what`."""
    try:
        yield
    except ZooportError:
        raise
    except ImportError as error:
        raise BackendUnavailableError(f"{what} needs a library that is not installed: {_line(error)}") from error
    except Exception as error:  # its configs and models raise whatever they like
        raise InputError(f"{what} cannot be built by transformers: {_line(error)}") from error


def takes(settings: Any, heads: Sequence[str]) -> bool:
    """Whether the model that a configuration names is one of these kinds, see build_architecture."""
    return any(kind.__name__ in (settings.architectures or ()) for kind in _classes(settings, heads))


def _classes(settings: Any, heads: Sequence[str]) -> list[type[Any]]:
    """The models of these kinds that the configuration fits."""
    modeling = optional_library("transformers.models.auto.modeling_auto", EXTRA, "a model")
    tables = [getattr(modeling, f"MODEL_FOR_{head}_MAPPING") for head in heads]
    entries = [table[type(settings)] for table in tables if type(settings) in table]
    return [one for entry in entries for one in (entry if isinstance(entry, list | tuple) else (entry,))]


@contextmanager
def _quiet() -> Iterator[None]:
    """Without transformers' report of what it loaded, which the caller makes itself."""
    logging = optional_library("transformers.utils.logging", EXTRA, "a model")
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def _line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    message = lines[0] if lines else ""
    if message.endswith(":"):
        message = " ".join(lines[:2])
    return f"{type(error).__name__}: {message}"
