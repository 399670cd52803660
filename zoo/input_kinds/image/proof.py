"""How images are prepared for a proof: by the reference, at any size, with ends of their own, and otherwise rounded."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import nn

from zoo.input_kinds.image.composed import composed_images
from zoo.input_kinds.image.input_rounding import GREY_LEVELS, rounded_inputs
from zoo.input_kinds.image.normalization import Normalization
from zoo.input_kinds.image.reduced import reduced
from zoo.input_kinds.image.reference_input import ReferenceInput, reference_input
from zoo.input_kinds.input_kind import Array
from zoo.input_kinds.proof import InputProof
from zoo.input_specs import IMAGE_SIZES, IMAGES
from zoo.preprocess import CHANNELS, Preprocess

EQUAL = 1e-6  # of 0..1: float32's own rounding, where the image was not resized
# The parts (of the height, of the width) of a tensor that the images of the batch of valid regions fill, in turn.
REGIONS = ((1.0, 1.0), (1.0, 0.45), (0.6, 1.0), (0.8, 0.75))


class ImageProof(InputProof):
    """Differences of tensors are in grey levels of 255."""

    unit: ClassVar[str] = "grey levels"
    scale: ClassVar[float] = GREY_LEVELS

    def reference_input(self, value: NDArray[Any], rule: Preprocess) -> ReferenceInput:
        """An image uint8 [h, w, 3] BGR, resized and padded in floats, by a reader of its own."""
        return reference_input(value, rule.to_dict())

    def graph_arrays(
        self, values: Sequence[Any], sizes: Mapping[str, int], rule: Preprocess, *, image_sizes: bool
    ) -> dict[str, Array]:
        """Every image brought to the size, and with image_sizes also where each ends."""
        sized = rule.at_size((sizes["height"], sizes["width"]))
        placed = [self.reference_input(value, sized) for value in values]
        arrays: dict[str, Array] = {IMAGES.name: np.concatenate([entry.tensor.numpy() for entry in placed])}
        if image_sizes:
            arrays[IMAGE_SIZES.name] = np.array([entry.shown for entry in placed], np.int64)
        return arrays

    def graph_step(self, rule: Preprocess) -> nn.Module | None:
        """Order of the channels, mean and standard deviation."""
        if rule.mean is None and rule.channel_order == "rgb":
            return None
        return Normalization(rule.mean, rule.std, rule.channel_order)

    def step_constants(self, rule: Preprocess) -> Mapping[str, tuple[Array, str]]:
        """Mean and standard deviation."""
        if rule.mean is None or rule.std is None:
            return {}
        mean, std = (np.array(values, np.float32) for values in (rule.mean, rule.std))
        return {"image mean": (mean, "Sub"), "image standard deviation": (std, "Div")}

    def other_ends(self, arrays: Mapping[str, Array], numbers: Sequence[int]) -> dict[str, Array]:
        """Images that fill REGIONS of their tensors: what lies outside is image that must not matter."""
        regions = np.array([REGIONS[number % len(REGIONS)] for number in numbers])
        sizes = (regions * arrays[IMAGES.name].shape[2:]).astype(np.int64).clip(min=1)
        return {**arrays, IMAGE_SIZES.name: sizes}

    def other_contents(self, arrays: Mapping[str, Array]) -> Iterator[tuple[str, dict[str, Array]]]:
        """Negatives, noise, and images of one colour: the corners of RGB."""
        images = arrays[IMAGES.name]
        yield "negatives", {**arrays, IMAGES.name: 1 - images}
        yield "noise", {**arrays, IMAGES.name: np.random.default_rng(0).random(images.shape, np.float32)}
        for colour in product((0, 1), repeat=CHANNELS):
            plain = np.broadcast_to(np.array(colour, np.float32)[:, None, None], images.shape)
            yield f"the colour {colour}", {**arrays, IMAGES.name: np.ascontiguousarray(plain)}

    def packed(
        self, value: Any, sizes: Mapping[str, int], rule: Preprocess, batch: int, *, image_sizes: bool
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        """The image in its tensor as a PNG, made small, and where it ends."""
        sides = (sizes["height"], sizes["width"])
        placed = rule.at_size(sides).placed(value)
        canvas = np.full((*sides, CHANNELS), rule.pad_bytes, np.uint8)
        height, width = placed.geometry.shown_size
        canvas[:height, :width] = placed.resized
        packed: dict[str, Array] = {"png": reduced(canvas), "size": np.array((batch, *sides))}
        ends: dict[str, Array] = {IMAGE_SIZES.name: np.array([(height, width)] * batch, np.int64)}
        return packed, ends if image_sizes else {}

    def composed(self, inputs: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
        """Enlarged, empty, shifted over itself, side by side."""
        return composed_images(inputs)

    def rounded(self, own: NDArray[np.float32], production: NDArray[np.float32]) -> Iterator[NDArray[np.float32]]:
        """Of an image that was resized; see input_rounding."""
        if np.allclose(own, production, rtol=0, atol=EQUAL):
            return iter(())
        return rounded_inputs(own, production)
