"""Where a deployment lies.

``<work_dir>/<task>/<config>/<backend>-<precision>[-<exporter>][-<level>][-<layout>][-<shapes>][-<inputs>][-<windows>][-<device>]``
"""

from pathlib import Path

from zoo.target import AXES, AxisRange, Target


def deployment_place(work_dir: str | Path, task: str, name: str, target: Target, default: Target) -> Path:
    """The folder of a deployment. Only what differs from ``default``, the config's own target, is in its name.

    An axis reads ``batch4`` where it is fixed and ``height320-640-960`` (min, opt, max) where it is not; the input
    image_sizes ``imagesizes`` or ``noimagesizes``, thresholds likewise; sliding windows ``host`` or ``graph`` and
    ``windows4``, a batch of them; a device ``cuda0``.
    """
    parts = [target.backend, target.precision]
    parts += [getattr(target, field) for field in ("exporter", "level", "layout") if _differs(target, default, field)]
    if _differs(target, default, "opset"):
        parts.append(f"opset{target.opset}")
    parts += [f"{axis}{_words(getattr(target, axis))}" for axis in AXES if _differs(target, default, axis)]
    if _differs(target, default, "image_sizes"):
        parts.append("imagesizes" if target.image_sizes else "noimagesizes")
    if _differs(target, default, "thresholds"):
        parts.append("thresholds" if target.thresholds else "nothresholds")
    if _differs(target, default, "slide"):
        parts.append(target.slide)
    if _differs(target, default, "window_batch"):
        parts.append(f"windows{target.window_batch or ''}")
    if _differs(target, default, "device"):
        parts.append("cuda0" if target.device == "cuda" else target.device.replace(":", ""))
    return Path(work_dir) / task / name / "-".join(parts)


def _differs(target: Target, default: Target, field: str) -> bool:
    return bool(getattr(target, field) != getattr(default, field))


def _words(axis: AxisRange) -> str:
    return f"{axis.min}-{axis.opt}-{axis.max}" if axis.dynamic else str(axis.opt)
