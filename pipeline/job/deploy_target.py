"""What a deploy aims at: the config's own target, changed by what the caller asks for."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pipeline.job.backend_options import chosen_options
from zoo.config import ModelConfig, config_target
from zoo.errors import InputError
from zoo.precision_options import PrecisionOptions
from zoo.target import BATCH, DEFAULT_LAYOUT, DEFAULT_MAX_BATCH, AxisRange, Target

Dynamic = Mapping[str, AxisRange | None]


def deploy_target(
    config: ModelConfig,
    dynamic: Dynamic | None = None,
    *,
    engine: Mapping[str, Any] | None = None,
    precision_options: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Target:
    """The config's target with ``changes`` (those that are not None) and ``dynamic`` axes put over it.

    ``dynamic``: axis -> its range; None for the default one around the config's size. ``engine`` and
    ``precision_options``: options by name that replace the config's, those that are not None. A layout of a
    family has its own level and axes unless these are given; it needs torch.
    Raises InputError.
    """
    target = config_target(config, changes.get("precision") or "fp32")
    axes = {axis: bounds or _dynamic(config, axis, target.axes[axis]) for axis, bounds in (dynamic or {}).items()}
    requested = {name: value for name, value in changes.items() if value is not None}
    if requested.get("layout", DEFAULT_LAYOUT) != DEFAULT_LAYOUT:
        from zoo.families import find_layout

        layout = find_layout(requested["layout"])
        requested = {"level": layout.level, **requested}
        sides = {axis: axes.get(axis, bounds) for axis, bounds in target.sides.items()}
        axes = {**layout.default_axes(sides), **axes}
    chosen = {name: value for name, value in (engine or {}).items() if value is not None}
    requested["engine"] = chosen_options(config, requested.get("backend", target.backend), chosen)
    if chosen := {name: value for name, value in (precision_options or {}).items() if value is not None}:
        requested["precision_options"] = PrecisionOptions.from_dict({**asdict(target.precision_options), **chosen})
        _check_used(target.precision, chosen)
    return target.with_(**axes, **requested)


def default_target(config: ModelConfig, backend: str, precision: str) -> Target:
    """The config's own target for a backend and a precision, which names of folders are compared with."""
    return config_target(config, precision).with_(backend=backend, engine=chosen_options(config, backend))


def _check_used(precision: str, options: Mapping[str, Any]) -> None:
    """Raises InputError for an option that this precision would ignore."""
    ignored = {"fp32": ("keep_fp32", "calibration_images", "calibration_method"), "fp16": ("calibration_method",)}
    unused = [name for name in options if name in ignored.get(precision, ())]
    if unused:
        raise InputError(f"option {unused[0]} with precision {precision}: it has no effect; leave it out")


def _dynamic(config: ModelConfig, axis: str, usual: AxisRange) -> AxisRange:
    if axis != BATCH:
        return config.task.kind.dynamic_side(axis, usual)
    return usual if usual.dynamic else AxisRange(1, max(2, usual.opt), max(DEFAULT_MAX_BATCH, usual.opt))


def target_preprocess(config: ModelConfig, target: Target) -> Any:
    """The config's preprocessing for the sizes of the target: a rule of the task's input kind."""
    return config.task.kind.target_rule(config.preprocess, target.sides)
