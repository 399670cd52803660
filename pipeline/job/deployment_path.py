"""Where a deployment lies.

``<work_dir>/<task>/<config>/<backend>-<precision>[-<precision options>][-<exporter>][-<level>][-<layout>][-<shapes>]``
``[-<inputs>][-<windows>][-<engine options>][-<device>]``
"""

import hashlib
from dataclasses import fields
from pathlib import Path

from zoo.options import Options
from zoo.precision_options import PrecisionOptions
from zoo.target import AxisRange, Target


def deployment_place(work_dir: str | Path, task: str, name: str, target: Target, default: Target) -> Path:
    """The folder of a deployment. Only what differs from ``default``, the config's own target, is in its name.

    An axis reads ``batch4`` where it is fixed and ``height320-640-960`` (min, opt, max) where it is not; the input
    image_sizes ``imagesizes`` or ``noimagesizes``, thresholds the same; sliding windows ``host`` or ``graph`` and
    ``windows4``, a batch of them; a device ``cuda0``. Modules that are kept in fp32 are a hash of their names, as they
    may be many; options of an engine are their first letters and values: ``wm512`` (workspace_mib), ``vcTrue``.
    """
    parts = [target.backend, target.precision]
    parts += _precision_parts(target.precision_options, default.precision_options)
    parts += [getattr(target, field) for field in ("exporter", "level", "layout") if _differs(target, default, field)]
    if _differs(target, default, "opset"):
        parts.append(f"opset{target.opset}")
    parts += [f"{axis}{_format_axis(size)}" for axis, size in target.axes.items() if size != default.axes[axis]]
    if _differs(target, default, "image_sizes"):
        parts.append("imagesizes" if target.image_sizes else "noimagesizes")
    if _differs(target, default, "thresholds"):
        parts.append("thresholds" if target.thresholds else "nothresholds")
    if _differs(target, default, "slide"):
        parts.append(target.slide)
    if _differs(target, default, "window_batch"):
        parts.append(f"windows{target.window_batch or ''}")
    parts += _engine_parts(target.engine, default.engine)
    if _differs(target, default, "device"):
        parts.append("cuda0" if target.device == "cuda" else target.device.replace(":", ""))
    return Path(work_dir) / task / name / "-".join(parts)


def _differs(target: Target, default: Target, field: str) -> bool:
    return bool(getattr(target, field) != getattr(default, field))


def _precision_parts(options: PrecisionOptions, default: PrecisionOptions) -> list[str]:
    words = []
    if options.keep_fp32 != default.keep_fp32:
        words.append(f"keep{hashlib.sha256(repr(sorted(options.keep_fp32)).encode()).hexdigest()[:8]}")
    if options.half_io != default.half_io:
        words.append("halfio" if options.half_io else "floatio")
    if options.calibration_images != default.calibration_images:
        words.append(f"calibration{options.calibration_images}")
    if options.calibration_method != default.calibration_method:
        words.append(options.calibration_method)
    return words


def _engine_parts(options: Options | None, default: Options | None) -> list[str]:
    words: list[str] = []
    if options is None:
        return words
    for field in fields(options):
        value = getattr(options, field.name)
        if value != getattr(default, field.name) and field.name not in options.ONLY_THE_BUILD:
            initials = "".join(word[0] for word in field.name.split("_"))
            words.append(initials + ("x".join(map(str, value)) if isinstance(value, tuple) else str(value)))
    return words


def _format_axis(axis: AxisRange) -> str:
    return f"{axis.min}-{axis.opt}-{axis.max}" if axis.dynamic else str(axis.opt)
