"""A module of a Python file as the doctor's subject, with example inputs."""

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from pipeline.doctor.examined_model import ExaminedModel
from pipeline.doctor.example import Input, parse_inputs, trials
from zoo.downloads import refused_downloads
from zoo.errors import InputError, nearest
from zoo.target import AxisRange, Target

IMAGE_AXES = {0: "batch", 2: "height", 3: "width"}
LARGEST = 2**14  # elements of a named axis, whose bounds nobody stated


def load_module_subject(path: Path, name: str, texts: Sequence[str]) -> ExaminedModel:
    """`name` of the file: a module, or what makes one without arguments; `texts`: its inputs, see parse_input.

    Raises InputError where there is no such thing, or an input cannot be made.
    """
    inputs = parse_inputs(texts)
    axes = {one.name: {place: axis.name for place, axis in enumerate(one.axes) if axis.name} for one in inputs}
    try:
        rounds = list(trials(inputs))
    except RuntimeError as error:
        raise InputError(f"--input {' '.join(texts)}: {first_line(error)}; give smaller sizes") from error
    with refused_downloads(f"{path}:{name}"):
        module = _module(path, name)
    return ExaminedModel(module.eval(), rounds, axes, _target(inputs))


def first_line(error: BaseException) -> str:
    """Its kind, and the first line of what it says."""
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"


def _module(path: Path, name: str) -> nn.Module:
    if not path.is_file():
        raise InputError(f"{path}: no such file; give FILE.py:NAME")
    spec = importlib.util.spec_from_file_location(f"_examined_{path.stem}", path.absolute())  # no installed one's name
    if spec is None or spec.loader is None:
        raise InputError(f"{path}: not a Python file; give FILE.py:NAME")
    code = importlib.util.module_from_spec(spec)
    sys.modules[code.__name__] = code  # dataclasses look their module up
    if (folder := str(path.absolute().parent)) not in sys.path:
        sys.path.insert(0, folder)  # as Python does for a script; it stays, for forward may import, too
    try:
        spec.loader.exec_module(code)
    except (Exception, SystemExit) as error:  # the user's code may raise anything
        raise InputError(f"{path} cannot be loaded: {first_line(error)}; fix it first") from error
    if not hasattr(code, name):
        raise InputError(f'{path} has no "{name}"; {nearest(name, [key for key in vars(code) if key[0] != "_"])}')
    target: Any = getattr(code, name)
    torch.manual_seed(0)  # of weights that are random, so that every process has the same
    try:
        module = target if isinstance(target, nn.Module) else target()
    except (Exception, SystemExit) as error:
        raise InputError(
            f"{path}:{name} cannot be made without arguments: {first_line(error)}; give a function without parameters "
            "that makes it"
        ) from error
    if not isinstance(module, nn.Module):
        raise InputError(f"{path}:{name} gives a {type(module).__name__}, expected a torch.nn.Module")
    return module


def _target(inputs: Sequence[Input]) -> Target:
    """By the first input with four axes, as images have; sizes are fixed where no axis has a name."""
    images = next((one for one in inputs if len(one.axes) == 4), None)  # noqa: PLR2004  # [N, C, H, W]
    if images is None:
        varies = any(axis.name for one in inputs for axis in one.axes[1:])
        side = AxisRange(1, 1, LARGEST) if varies else AxisRange.fixed(1)
        return Target({"height": side, "width": side})
    ranges: dict[str, Any] = {}
    for place, name in IMAGE_AXES.items():
        axis = images.axes[place]
        ranges[name] = AxisRange(1, axis.size, LARGEST) if axis.name else AxisRange.fixed(axis.size)
    return Target(ranges)
