"""transformers' image processors whose code is known here, and what it does with the fields of its config.

A processor that is not listed may read the same fields in another way, so it is refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

NOT_PADDED: Mapping[str, Any] = {"do_pad": False, "pad_size": None}
PADDED: Mapping[str, Any] = {"pad_size": None}
"""Of processors that pad to the largest image of a batch, which is the image itself here."""


@dataclass(frozen=True)
class ImageProcessor:
    """What one processor does where a config does not say it, and what its own code does.

    `resample`: Pillow's number; None where its versions differ. `square`: a size that is one number is height and
    width, not the shorter edge. `multiple`: the field whose multiples the sides are, which the resize rounds to, up
    or to the nearest; `multiple_of`: where it is missing. `flips`: it makes BGR of RGB. `crop_part`: it cuts out
    the part crop_pct. `longest`: max_size is the longest edge of a size that is one number; other processors pass it
    over. `longest_edge`: where max_size is missing. `fields`: those that it alone has. `expected`: fields that must
    have this value, or be missing.
    """

    resample: int | None = None
    square: bool = True
    crops: bool = False
    normalizes: bool = True
    flips: bool = False
    multiple: str | None = None
    multiple_of: int | None = None
    rounds_up: bool = True
    crop_part: bool = False
    longest: bool = False
    longest_edge: int | None = None
    fields: tuple[str, ...] = ()
    expected: Mapping[str, Any] = field(default_factory=lambda: NOT_PADDED)


READ = (
    "image_processor_type",
    "feature_extractor_type",
    "do_resize",
    "size",
    "max_size",
    "_max_size",
    "resample",
    "do_center_crop",
    "crop_size",
    "do_rescale",
    "rescale_factor",
    "do_normalize",
    "image_mean",
    "image_std",
    "do_pad",
    "pad_size",
)
IRRELEVANT = (
    "_processor_class",
    "_valid_kwargs_names",
    "_valid_processor_keys",
    "data_format",
    "default_to_square",
    "device",
    "disable_grouping",
    "do_convert_annotations",
    "do_convert_rgb",
    "do_reduce_labels",
    "format",
    "ignore_index",
    "input_data_format",
    "num_labels",
    "processor_class",
    "reduce_labels",
    "return_segmentation_masks",
    "return_tensors",
)
"""Of annotations, labels, and the form in which images are taken and given."""

_QUERIES = ImageProcessor(
    resample=2,
    square=False,
    longest=True,
    longest_edge=1333,
    fields=("pad_and_return_pixel_mask",),
    expected=PADDED,
)
_MASKS = ImageProcessor(
    resample=2,
    square=False,
    longest=True,
    multiple="size_divisor",
    multiple_of=32,
    fields=("size_divisor", "size_divisibility"),
    expected={**PADDED, "size_divisibility": 32},  # the name in files of version 4.25 and before, not read any more
)
_CROPPED = ImageProcessor(square=False, crops=True)

IMAGE_PROCESSORS: Mapping[str, ImageProcessor] = {
    "Beit": ImageProcessor(),
    "Bit": _CROPPED,
    "CLIP": _CROPPED,
    "ConditionalDetr": _QUERIES,
    "ConvNext": ImageProcessor(square=False, crop_part=True, fields=("crop_pct",)),
    "DPT": ImageProcessor(
        multiple="ensure_multiple_of",
        rounds_up=False,
        fields=("ensure_multiple_of", "keep_aspect_ratio", "size_divisor"),
    ),
    "DeformableDetr": _QUERIES,
    "Detr": _QUERIES,
    "Mask2Former": _MASKS,
    "MaskFormer": _MASKS,
    "MobileNetV1": _CROPPED,
    "MobileNetV2": _CROPPED,
    "MobileViT": ImageProcessor(
        square=False,
        crops=True,
        normalizes=False,
        flips=True,
        fields=("do_flip_channel_order",),
        expected={**NOT_PADDED, "do_normalize": False},
    ),
    "OneFormer": replace(_QUERIES, longest_edge=None, fields=("class_info_file", "metadata", "num_text", "repo_path")),
    "Pvt": ImageProcessor(),
    "RTDetr": replace(_QUERIES, longest_edge=None, normalizes=False),
    "Segformer": ImageProcessor(resample=2),
    "Siglip": ImageProcessor(square=False),
    "ViT": ImageProcessor(resample=2),
}
"""By the name of the class without "ImageProcessor"."""
