"""Checkpoints: a path, an https URL with its sha256, or ``torchvision://<WeightsEnum>.<NAME>``. Needs torch.

Files are never unpickled with code: safetensors, or torch.load(weights_only=True).
"""

import hashlib
import logging
import re
from collections.abc import Iterable, Mapping
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from zoo.errors import InputError, nearest
from zoo.notices import notice
from zoo.shared_tensors import with_other_names
from zoo.shipped import whereabouts
from zoo.state_fit import COUNTER, check_dtypes, check_fits
from zoo.torch_file import read_torch_file, unreadable

TORCHVISION_SCHEME = "torchvision://"
HTTPS_SCHEME = "https://"
NAMED_BY = 16  # digits of its hash before the name of a download: many are called model.safetensors
NESTED_KEYS = ("state_dict", "model", "model_state_dict")
"""Where trainings keep the weights in a larger dictionary."""
AVERAGED = "_ema"  # behind such a key: their moving average, of timm's and torchvision's scripts
WRAPPERS = ("module.", "model.", "_orig_mod.")
"""What is put before all names: by distributed training, by the trainer, by torch.compile."""
AVERAGES = "n_averaged"
logger = logging.getLogger(__name__)


def load_checkpoint(model: nn.Module, source: str | Path) -> None:
    """Load weights into a model; every parameter and buffer must be there, in the model's shape.

    `source`: a path, ``https://...#sha256=<64 hex digits>`` or ``torchvision://<WeightsEnum>.<NAME>``.
    Half-precision weights are widened to the model's dtype. What a training wrapped the model in ("module.", "model."
    before every name) is taken off, so mmengine's checkpoints load, too.
    A model of a library whose files have other names than its modules, or tensors that only training uses, has a method
    `translated_state`: a state dict of such a file -> the one by the model's names.
    Raises InputError: no such file, a wrong hash, pickled code, a corrupt file, weights of another model, or a value
    that is not finite.
    """
    state = state_for(model, _state_dict(str(source)), source)
    load_state(model, state, f"checkpoint {source}")


def load_fitting(model: nn.Module, source: str | Path) -> list[str]:
    """Load the weights that fit into a model of the same kind, with other classes say; `source` as load_checkpoint's.

    Tensors of another shape keep what the model has: they are given, each with both shapes. Raises InputError as
    load_checkpoint does, but for those; and where they are most of the model, which is then another one.
    """
    state = state_for(model, _state_dict(str(source)), source)
    expected = model.state_dict()
    anew = [name for name, tensor in expected.items() if name in state and state[name].shape != tensor.shape]
    fitting = {name: expected[name] if name in anew else tensor for name, tensor in state.items()}
    if 2 * len(anew) > len(expected):
        fitting = dict(state)  # of another model: say so
    load_state(model, fitting, f"checkpoint {source}")
    return [f"{name} {list(expected[name].shape)} for {list(state[name].shape)}" for name in anew]


def load_state(model: nn.Module, state: Mapping[str, Tensor], what: str) -> None:
    """Load a state dict into a model that it fits; `what` names it in messages. Raises InputError as load_checkpoint.

    Batch norm's counters may be missing, or there where the model has none (torchvision's FrozenBatchNorm2d). Of a
    tensor that the model has under several names, one may be there alone.
    """
    expected = model.state_dict()
    state = with_other_names(state, expected)
    state = {name: tensor for name, tensor in state.items() if name in expected or not name.endswith(COUNTER)}
    check_fits(expected, state, what)
    check_dtypes(expected, state, what)
    for name, tensor in state.items():  # after the shapes: a file can give a small storage a giant shape
        if tensor.is_floating_point() and not _is_finite(tensor, expected.get(name)):
            raise InputError(f'{what}: tensor "{name}" has values that are not finite; did the training diverge?')
    model.load_state_dict({**expected, **state})


def _state_dict(source: str) -> Mapping[str, Tensor]:
    if source.startswith(TORCHVISION_SCHEME):
        return _torchvision_state_dict(source)
    if source.startswith(HTTPS_SCHEME):
        address, digest = _address_and_hash(source)
        return read_state(_downloaded(address, digest, f"{digest[:NAMED_BY]}-{_file_name(address)}"))
    path = Path(source)
    if not path.is_file():
        hint = whereabouts(path) or "; give the path of one"
        raise InputError(f"checkpoint {path}: no such file{hint}")
    return read_state(path)


def state_for(model: nn.Module, state: Mapping[str, Tensor], source: str | Path) -> Mapping[str, Tensor]:
    """A state dict by the names of the model: without what a training wrapped it in; `source` names it in the log."""
    state = _unwrapped(state, model)
    translated_state: Any = getattr(model, "translated_state", None)
    if translated_state is not None and not state.keys() <= model.state_dict().keys():
        count = len(state)
        state = translated_state(state)
        if left_out := count - len(state):
            logger.info("checkpoint %s: left out %d tensors, which this model does not have", source, left_out)
    return state


def read_state(path: Path) -> Mapping[str, Tensor]:
    """The state dict in a file: dense tensors by name. Raises InputError: no such file, or something else in it."""
    if path.suffix == ".safetensors":
        try:
            return load_file(path)
        except Exception as error:  # SafetensorError, OSError, and KeyError for a dtype that torch has not
            raise unreadable(path, error) from error
    content = read_torch_file(path)
    for key in NESTED_KEYS:
        if isinstance(content, Mapping) and isinstance(content.get(key), Mapping):
            if (averaged := key + AVERAGED) in content:
                notice(
                    f'checkpoint {path}: "{key}" is read, and not the averaged weights, "{averaged}"; for those, save '
                    f'them alone: torch.save(checkpoint["{averaged}"], FILE)'
                )
            content = content[key]
    if not isinstance(content, Mapping):
        raise InputError(f"checkpoint {path}: expected a state dict of tensors, got {type(content).__name__}")
    _check_tensors(content, path)
    return content


def _check_tensors(content: Mapping[Any, Any], path: Path) -> None:
    """Raises InputError for what is no dense tensor by its name."""
    for name, tensor in content.items():
        if not isinstance(name, str) or not isinstance(tensor, Tensor):
            if states := [str(key) for key, value in content.items() if _is_state(value)]:
                raise InputError(
                    f"checkpoint {path}: expected a state dict, got a dictionary that has {' and '.join(states)}; "
                    f'save the one of the model alone: torch.save(checkpoint["{states[0]}"], FILE)'
                )
            raise InputError(
                f"checkpoint {path}: expected a state dict, tensors by their names, got {type(tensor).__name__} as "
                f"{name!r}; save model.state_dict()"
            )
        if kind := _unusual(tensor):
            raise InputError(
                f'checkpoint {path}: tensor "{name}" is {kind}, expected a plain one; save the state of the plain model'
            )


def _is_finite(tensor: Tensor, own: Tensor | None) -> bool:
    """Whether every value is, but for those that the model has so by itself, such as a mask of attention."""
    finite = tensor.float().isfinite()
    if own is None or finite.all():
        return bool(finite.all())
    return bool((finite | (tensor == own)).all())


def _is_state(value: object) -> bool:
    return isinstance(value, Mapping) and bool(value) and all(isinstance(entry, Tensor) for entry in value.values())


def _unusual(tensor: Tensor) -> str | None:
    """What a tensor is where it does not simply hold its values."""
    if tensor.is_meta:
        return "on the meta device, without values"
    if tensor.is_quantized:
        return "quantised"
    if tensor.layout != torch.strided or tensor.is_nested:
        return "nested" if tensor.is_nested else "sparse"
    return "complex" if tensor.is_complex() else None


def _unwrapped(state: Mapping[str, Tensor], model: nn.Module) -> Mapping[str, Tensor]:
    """The state without the prefixes that all of its names have more often than those of the model have them.

    The counter of torch's AveragedModel, which puts "module." before all others, is left out.
    """
    own = model.state_dict()
    if AVERAGES not in own and all(name == AVERAGES or name.startswith(WRAPPERS[0]) for name in state):
        state = {name: tensor for name, tensor in state.items() if name != AVERAGES}
    for prefix in WRAPPERS * len(WRAPPERS):  # in any order
        more = _times_before_all(prefix, state) - _times_before_all(prefix, own)
        if more > 0:
            state = {name[more * len(prefix) :]: tensor for name, tensor in state.items()}
    return state


def _times_before_all(prefix: str, names: Iterable[str]) -> int:
    """How many times the prefix stands at the beginning of every name; those of some models begin with one."""
    repeated = re.compile(f"(?:{re.escape(prefix)})*")
    return min((repeated.match(name).end() // len(prefix) for name in names), default=0)  # type: ignore[union-attr]


def _address_and_hash(url: str) -> tuple[str, str]:
    address, _, fragment = url.partition("#")
    match = re.fullmatch(r"sha256=([0-9a-f]{64})", fragment)
    if match is None:
        raise InputError(f"checkpoint {url}: expected its hash after it: {address}#sha256=<64 hex digits>")
    return address, match[1]


def _file_name(address: str) -> str:
    """How the file of an address is called, without what is asked of the server behind it (?download=true)."""
    name = Path(unquote(urlsplit(address).path)).name
    if not name:
        raise InputError(f"checkpoint {address}: the address names no file; expected https://.../<name>.safetensors")
    return name


def _downloaded(address: str, expected: str, name: str) -> Path:
    """The file `name` in torch's download folder, fetched where it is not there; `expected`: how its sha256 begins.

    torch.hub writes beside the place, checks the hash and moves the file there: nothing half-written is left.
    """
    path = Path(torch.hub.get_dir()) / "checkpoints" / name
    if not path.is_file():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            torch.hub.download_url_to_file(address, str(path), hash_prefix=expected, progress=False)
        except (RuntimeError, HTTPException, OSError) as error:  # a wrong hash; broken off; no network, or no room
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            raise InputError(
                f"checkpoint {address} cannot be downloaded: {reason}; without a network, put the file at {path}"
            ) from error
    with path.open("rb") as stream:
        got = hashlib.file_digest(stream, "sha256").hexdigest()
    if not got.startswith(expected):
        raise InputError(f"checkpoint {path}: sha256 is {got}, expected {expected}; delete the file and try again")
    return path


def _torchvision_state_dict(source: str) -> Mapping[str, Tensor]:
    from torchvision import models

    name = source.removeprefix(TORCHVISION_SCHEME)
    try:
        weights = models.get_weight(name)
    except (ValueError, AttributeError, KeyError) as error:
        known = [str(weight) for model in models.list_models() for weight in models.get_model_weights(model)]
        raise InputError(f'checkpoint {source}: unknown weights "{name}"; {nearest(name, known)}') from error
    # not weights.get_state_dict(): it unpickles with code, and trusts a file that is already there
    prefix = re.search(r"-([0-9a-f]{8,})\.", Path(weights.url).name)
    if prefix is None:
        raise InputError(f"checkpoint {source}: {weights.url} names no hash; download it and give its path")
    return read_state(_downloaded(weights.url, prefix[1], Path(weights.url).name))  # as torch.hub calls it
