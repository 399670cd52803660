"""Images, uint8 [h, w, 3] BGR: the tensor images float32 [N, 3, H, W], and where the target asks image_sizes."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError
from zoo.input_kinds.image import video
from zoo.input_kinds.image.reading import SUFFIXES, decode_image, read_image
from zoo.input_kinds.image.small_image import tensor_of, to_png
from zoo.input_kinds.input_kind import Array, InputKind
from zoo.input_kinds.recording import Recording
from zoo.input_kinds.registry import register_input_kind
from zoo.input_specs import IMAGE_SIZES, IMAGES
from zoo.preprocess import (
    CHANNEL_ORDERS,
    CHANNELS,
    CROP_ROUNDINGS,
    INTERPOLATIONS,
    MAX_BYTE,
    MIN_SIDE,
    OPENCV_MAX_PIXELS,
    RESIZES,
    SIDE_ROUNDINGS,
    Geometry,
    Preprocess,
    check_image,
    rounded_up,
)
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec

SIDES = (32, 2048)  # what a dynamic height or width takes
USUAL_SIDE = 512  # of them, where the images keep their own sizes
LONGEST = 4  # times the shorter edge, where a rule has no bound of the longer one

_CHANNELS: Mapping[str, Any] = {
    "type": "array",
    "minItems": CHANNELS,
    "maxItems": CHANNELS,
    "items": {"type": "number"},
}
_SIDE: Mapping[str, Any] = {"type": "integer", "minimum": MIN_SIDE, "maximum": OPENCV_MAX_PIXELS}
_SIZE: Mapping[str, Any] = {
    "type": "array",
    "minItems": 2,
    "maxItems": 2,
    "items": {"type": "integer", "minimum": MIN_SIDE},
}
PREPROCESS_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "size": {
            **_SIZE,
            "description": "height, width in pixels; null if the size follows from the image",
            "type": ["array", "null"],
        },
        "resize": {"enum": list(RESIZES)},
        "interpolation": {"enum": list(INTERPOLATIONS)},
        "pad_value": {
            "description": "a byte, or a number for each of red, green and blue",
            "type": ["integer", "array"],
            "minimum": 0,
            "maximum": MAX_BYTE,
            "minItems": CHANNELS,
            "maxItems": CHANNELS,
            "items": {"type": "number", "minimum": 0, "maximum": MAX_BYTE},
        },
        "size_divisor": {"type": "integer", "minimum": 1, "maximum": 4096},
        "mean": {**_CHANNELS, "description": "of each channel, 0..1; the graph itself subtracts it"},
        "std": {**_CHANNELS, "description": "of each channel, 0..1; the graph itself divides by it"},
        "shortest_edge": _SIDE,
        "longest_edge": _SIDE,
        "multiple_of": {"type": "integer", "minimum": 1, "maximum": 4096},
        "crop_rounding": {"enum": list(CROP_ROUNDINGS)},
        "channel_order": {
            "description": "of the model; the tensor is RGB, and the graph itself turns it into bgr",
            "enum": list(CHANNEL_ORDERS),
        },
        "side_rounding": {"enum": list(SIDE_ROUNDINGS)},
        "fit_size": {**_SIZE, "description": "height, width in pixels, one of which an image is scaled to"},
    },
    "required": ["interpolation", "pad_value", "resize", "size", "size_divisor"],
    "additionalProperties": False,
}


@register_input_kind
class ImageKind(InputKind):
    """Its rule is a zoo.preprocess.Preprocess, its geometries are zoo.preprocess.Geometry."""

    name: ClassVar[str] = "image"
    noun: ClassVar[str] = "image"
    size_axes: ClassVar[str] = "height x width"
    inputs: ClassVar[tuple[TensorSpec, ...]] = (IMAGES, IMAGE_SIZES)
    preprocess_schema: ClassVar[Mapping[str, Any]] = PREPROCESS_SCHEMA
    proof_class: ClassVar[str] = "zoo.input_kinds.image.proof:ImageProof"
    training_class: ClassVar[str | None] = "zoo.datasets.training.samples:TrainingSamples"
    suffixes: ClassVar[tuple[str, ...]] = SUFFIXES
    recording_suffixes: ClassVar[tuple[str, ...]] = video.SUFFIXES

    def specs(self, *, image_sizes: bool = False) -> tuple[TensorSpec, ...]:
        """Every axis but the channels is dynamic."""
        return self.inputs if image_sizes else self.inputs[:1]

    def sides(self, rule: Preprocess) -> Mapping[str, AxisRange]:
        """The size that every image gets, or any where images keep their own."""
        if rule.size is None:
            return dict(zip(("height", "width"), _ranges_of_sides(rule), strict=True))
        return {axis: AxisRange.fixed(side) for axis, side in zip(("height", "width"), rule.size, strict=True)}

    def dynamic_side(self, axis: str, usual: AxisRange) -> AxisRange:
        """SIDES around a fixed size."""
        if usual.dynamic:
            return usual
        return AxisRange(min(SIDES[0], usual.opt), usual.opt, max(SIDES[1], usual.opt))

    def target_rule(self, rule: Preprocess, sides: Mapping[str, AxisRange]) -> Preprocess:
        """Where height and width are both dynamic an image is kept at its own size and padded, or has the size that the
        config's own rule gives it; else it is brought to the preferred size by that rule.

        Raises InputError for another size than the one that the rule cuts out.
        """
        height, width = sides["height"], sides["width"]
        if height.dynamic and width.dynamic:
            return rule.kept()
        size = (height.opt, width.opt)
        if rule.crops and size != rule.size:
            raise InputError(
                f"preprocess: the centre of size {rule.size} is cut out, and the target has {size}; change size and "
                "shortest_edge in the config"
            )
        return rule.at_size(size)

    def metadata(self, sides: Mapping[str, AxisRange]) -> dict[str, str]:
        """`imgsz`, a literal [height, width], of a fixed size."""
        height, width = sides["height"], sides["width"]
        return {} if height.dynamic or width.dynamic else {"imgsz": repr([height.opt, width.opt])}

    def rule(self, fields: Mapping[str, Any]) -> Preprocess:
        """See Preprocess.from_dict."""
        return Preprocess.from_dict(fields)

    def contradictions(
        self, fields: Mapping[str, Any], spec: Mapping[str, Any], axes: Mapping[str, Any]
    ) -> Iterator[str]:
        """A size that the graph does not take."""
        if (size := fields["size"]) is None:
            return
        for axis, (side, wanted) in enumerate(zip(spec["shape"][2:], size, strict=True)):
            least, most = (side, side) if isinstance(side, int) else (axes[side]["min"], axes[side]["max"])
            if not least <= wanted <= most:
                yield f"preprocess.size[{axis}]: got {wanted}, and {spec['name']} takes {least} to {most}"

    def least_shape(self, fields: Mapping[str, Any], shape: Sequence[int]) -> Sequence[int]:
        """Of the size that every image gets, if there is one."""
        return shape if fields["size"] is None else (*shape[:2], *fields["size"])

    def read(self, path: str | Path) -> NDArray[np.uint8]:
        """Turned upright by the file's orientation tag."""
        return read_image(path)

    def file_content(self, value: NDArray[np.uint8]) -> bytes:
        """A PNG file."""
        return to_png(value, effort=1).tobytes()

    def decode(self, content: bytes, label: str) -> NDArray[np.uint8]:
        """In memory."""
        return decode_image(content, label)

    def recording(self, path: Path) -> Recording | None:
        """A video, by its suffix."""
        return video.video_file(path)

    def live(self, source: str) -> Recording | None:
        """A camera by its number, a stream by its URL."""
        return video.live(source)

    def size(self, value: Array) -> tuple[int, int]:
        """The first two axes."""
        height, width = value.shape[:2]
        return height, width

    def stored_fault(self, size: tuple[int, ...]) -> str | None:
        """`size`: (height, width)."""
        if min(size) >= MIN_SIDE:
            return None
        return f"got {size[1]}x{size[0]} pixels, expected {MIN_SIDE} or more on each side"

    def check(self, value: object, what: str) -> None:
        """See zoo.preprocess.check_image."""
        check_image(value, what)

    def alike(self, rule: Preprocess, value: Array, names: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        """The size of the tensor; with image_sizes also of the image in it.

        A detector makes a batch of valid regions as large as the largest of them: the others' results would change.
        """
        geometry = rule.geometry(*value.shape[:2])
        sizes = (geometry.tensor_size, geometry.shown_size)
        return sizes if IMAGE_SIZES.name in names else sizes[:1]

    def slot_shape(self, rule: Preprocess, values: Sequence[Array]) -> tuple[int, ...]:
        """[3, H, W]."""
        return (CHANNELS, *rule.geometry(*values[0].shape[:2]).tensor_size)

    def fill(self, rule: Preprocess, value: Array, slot: NDArray[np.float32]) -> Geometry:
        """RGB, 0..1."""
        return rule.run(value, slot)

    def geometry(self, rule: Preprocess, value: Array) -> Geometry:
        """By the sizes alone."""
        return rule.geometry(*value.shape[:2])

    def geometry_numbers(self, geometry: Geometry) -> NDArray[np.int64]:
        """Four pairs."""
        return np.array(geometry, np.int64).reshape(-1)

    def geometry_of(self, numbers: NDArray[np.int64]) -> Geometry:
        """The inverse."""
        return Geometry(*((int(first), int(second)) for first, second in numbers.reshape(-1, 2)))

    def companions(self, geometries: Sequence[Geometry]) -> Mapping[str, Array]:
        """Where each image ends in its tensor."""
        return {IMAGE_SIZES.name: np.array([place.shown_size for place in geometries], np.int64)}

    def check_arrays(self, arrays: Mapping[str, Array]) -> None:
        """Whether each image ends inside its tensor."""
        if IMAGE_SIZES.name not in arrays:
            return
        sizes, limits = arrays[IMAGE_SIZES.name], np.array(arrays[IMAGES.name].shape[-2:])
        wrong = np.flatnonzero(((sizes < 1) | (sizes > limits)).any(axis=1))
        if wrong.size:
            raise InputError(
                f'input "{IMAGE_SIZES.name}": got {sizes[wrong[0]].tolist()} for image {wrong[0]}, expected (height, '
                f"width) from 1 to {limits.tolist()}, the size of its tensor; give the part of the tensor, from the "
                "top left, that the image fills"
            )

    def unpacked(self, packed: Mapping[str, Array]) -> dict[str, Array]:
        """`packed`: the `png`, and the `size` (N, H, W) of the tensor."""
        batch, height, width = (int(side) for side in packed["size"])
        return {IMAGES.name: tensor_of(packed["png"], batch, (height, width))}

    def words(self, rule: Preprocess) -> str:
        """The size of the tensor, or of its shorter edge, or that of which it has one side."""
        if rule.size is not None:
            return f"{rule.size[0]}x{rule.size[1]}"
        if rule.fit_size is not None:
            return f"height {rule.fit_size[0]} or width {rule.fit_size[1]}"
        return "own sizes" if rule.shortest_edge is None else f"shorter edge {rule.shortest_edge}"

    def feed_example(self, names: Sequence[str]) -> str:
        """With image_sizes, if the graph takes them."""
        sizes = ', "image_sizes": numpy.array([place.shown_size for place in geometries])'
        return f'{{"images": array{sizes if IMAGE_SIZES.name in names else ""}}}'


def _ranges_of_sides(rule: Preprocess) -> tuple[AxisRange, AxisRange]:
    """Of heights and widths that follow from the image, in multiples of what divides them."""
    least, bound = SIDES
    if rule.fit_size is not None:
        height, width = (_multiples(rule, least, side, max(bound, LONGEST * side)) for side in rule.fit_size)
        return height, width
    if rule.shortest_edge is None:
        sides = _multiples(rule, least, USUAL_SIDE, bound)
    elif rule.longest_edge is None:
        edge = rule.shortest_edge
        sides = _multiples(rule, edge, edge, max(bound, LONGEST * edge))
    else:
        sides = _multiples(rule, least, rule.shortest_edge, rule.longest_edge)
    return sides, sides


def _multiples(rule: Preprocess, *sides: int) -> AxisRange:
    """Each side as the rule rounds it up and pads it."""
    return AxisRange(*(rounded_up(rounded_up(side, rule.multiple_of), rule.size_divisor) for side in sides))
