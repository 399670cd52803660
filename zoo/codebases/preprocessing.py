"""The transforms of a test, and what the data preprocessor does after them, as the section `preprocess` of a config."""

from collections.abc import Mapping
from typing import Any

from zoo.codebases.config import CodebaseConfig, type_name
from zoo.codebases.data_preprocessor import Preprocessor, preprocessor_of
from zoo.codebases.known_keys import WRITE
from zoo.codebases.transforms import TRANSFORMS, Steps
from zoo.errors import InputError
from zoo.preprocess import Preprocess

BYTES = 255.0
DIGITS = 12  # more than float32 holds
ANNOTATIONS = ("LoadAnnotations", "FilterAnnotations", "LoadEmptyAnnotations")
PACKERS = ("PackSegInputs", "PackDetInputs")
REASONS = {
    **dict.fromkeys(("TestTimeAug", "MultiScaleFlipAug"), ", which deploys one pass over one image"),
    "ResizeShortestEdge": ", whose resizes round a side once, and this one twice: some images differ by a pixel",
}
"""Why some transforms have no counterpart."""


def preprocess_of(config: CodebaseConfig) -> dict[str, Any]:
    """The section `preprocess`. Raises InputError that names the transform, or the key, that has no counterpart."""
    where = f"{config.path}: test pipeline"
    steps = Steps()
    for number, transform in enumerate(config.pipeline):
        if not isinstance(transform, Mapping) or "type" not in transform:
            raise InputError(f"{where}[{number}]: got {transform!r}, expected a dict with a type")
        name = type_name(transform["type"])
        options = {key: value for key, value in transform.items() if key != "type"}
        if name in (*ANNOTATIONS, *PACKERS):
            continue
        if name not in TRANSFORMS:
            raise InputError(f"{where}: {name} has no counterpart in zooport{REASONS.get(name, '')}; {WRITE}")
        steps = TRANSFORMS[name](steps, options, f"{where}: {name}")
    return _section(steps, preprocessor_of(config, steps.normalization), where)


def _section(steps: Steps, after: Preprocessor, where: str) -> dict[str, Any]:
    """The two, as one rule."""
    section = _resizing(steps, where)
    pads_first = steps.padded is not None or steps.divisor > 1
    if "size" not in section:
        if steps.divisor > 1 and after.divisor > 1 and steps.divisor % after.divisor:
            raise InputError(f"{where}: Pad by {steps.divisor}, then by {after.divisor}; make them one")
        section["size_divisor"] = steps.divisor if steps.divisor > 1 else after.divisor
    elif any(side % after.divisor for side in section["size"]):
        raise InputError(f"{where}: its size is no multiple of the data preprocessor's {after.divisor}; make it one")
    elif any(side % steps.divisor for side in section["size"]):
        raise InputError(f"{where}: its size is no multiple of the {steps.divisor} of Pad; make it one")
    padding = after.padding
    if pads_first and steps.padding is not None:
        padding = after.of_normalized(steps.padding) if steps.pads_normalized else steps.padding[::-1]
    if section["resize"] != "stretch" and padding is not None and (pads_first or after.divisor > 1):
        section["pad_value"] = _padding(padding)
    mean, std = after.mean or (0.0,) * 3, after.std or (1.0,) * 3  # the model takes 0..255 where nothing is said
    section["mean"], section["std"] = (
        tuple(round(value / BYTES, DIGITS) for value in values) for values in (mean, std)
    )
    if after.order != "rgb":
        section["channel_order"] = after.order
    try:
        Preprocess.from_dict(section)
    except InputError as error:
        raise InputError(f"{where}: {error}; {WRITE}") from error
    return section


def _resizing(steps: Steps, where: str) -> dict[str, Any]:
    """The size of the tensor, and how an image gets there."""
    if steps.scale is None:
        if steps.padded is not None:
            raise InputError(f"{where}: Pad to a size without a Resize before it; {WRITE}")
        return {"resize": "keep"}
    width, height = steps.scale
    look = {"interpolation": steps.interpolation}
    if steps.padded is None and not steps.keeps_ratio:
        return {"size": (height, width), "resize": "stretch", **look}
    look["side_rounding"] = "half_up"
    if steps.padded is None:
        return {"resize": "shortest", "shortest_edge": min(steps.scale), "longest_edge": max(steps.scale), **look}
    if not steps.keeps_ratio or steps.padded != (height, width) or height != width:
        # a rectangle: OpenMMLab swaps its sides for upright images, and zooport fits both kinds into the same one
        raise InputError(
            f"{where}: Resize to {(height, width)} and Pad to {steps.padded} (height, width), expected one square and "
            f"keep_ratio=True; {WRITE}"
        )
    return {"size": (height, width), "resize": "letterbox", **look}


def _padding(values: tuple[float, ...]) -> int | tuple[float, ...]:
    first = values[0]
    return int(first) if float(first).is_integer() and len(set(values)) == 1 else values
