"""What the mappings refuse, naming the field; and what they make of the forms that older files have. No library."""

from typing import Any

import pytest

from zoo.errors import InputError
from zoo.preprocess_mapping import from_timm, from_torchvision, from_transformers

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
DETR = {
    "image_processor_type": "DetrImageProcessor",
    "do_resize": True,
    "size": {"shortest_edge": 800, "longest_edge": 1333},
    "resample": 2,
    "do_rescale": True,
    "rescale_factor": 0.00392156862745098,
    "do_normalize": True,
    "image_mean": MEAN,
    "image_std": STD,
    "do_pad": True,
    "format": "coco_detection",
}
VIT = {**DETR, "image_processor_type": "ViTImageProcessor", "size": {"height": 224, "width": 224}, "do_pad": False}
DPT = {**VIT, "image_processor_type": "DPTImageProcessor", "keep_aspect_ratio": True}
CLIP = {
    **VIT,
    "image_processor_type": "CLIPImageProcessor",
    "size": {"shortest_edge": 224},
    "do_center_crop": True,
    "crop_size": {"height": 224, "width": 224},
}
MOBILEVIT = {**CLIP, "image_processor_type": "MobileViTImageProcessor", "do_normalize": None}
TIMM = {
    "input_size": (3, 224, 224),
    "interpolation": "bicubic",
    "mean": tuple(MEAN),
    "std": tuple(STD),
    "crop_pct": 0.875,
    "crop_mode": "center",
}
PRESET = {"resize_size": [256], "crop_size": [224], "interpolation": "bilinear", "mean": MEAN, "std": STD}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({**DETR, "image_processor_type": "LevitImageProcessor"}, "image_processor_type is 'LevitImageProcessor'"),
        ({**DETR, "image_processor_type": None}, "image_processor_type is None"),
        ({**DETR, "patch_size": 14}, "patch_size has no counterpart"),
        ({**DETR, "resample": 1}, "resample is 1, expected bilinear or bicubic"),
        ({**DETR, "resample": 0}, "resample is 0"),
        ({**DETR, "pad_size": {"height": 640, "width": 640}}, "pad_size is {'height': 640, 'width': 640}"),
        ({**DETR, "size": {"max_height": 640, "max_width": 640}}, "size is {'max_height': 640"),
        ({**DETR, "size": {"longest_edge": 640}}, "size is {'longest_edge': 640}"),
        ({**DETR, "size": {"height": 640.5, "width": 640}}, "size.height is 640.5"),
        ({**DETR, "size": {"shortest_edge": 800, "longest_edge": 600}}, "got longest_edge 600"),
        ({**DETR, "size": None}, "size is None"),
        ({**DETR, "image_mean": [0.5]}, "image_mean is .0.5., expected a number for each of three channels"),
        ({**DETR, "image_mean": [123.7, 116.3, 103.5]}, "divide numbers of the scale 0..255 by 255"),
        ({**DETR, "rescale_factor": 0}, "rescale_factor is 0, expected a number above 0"),
        ({**DETR, "rescale_factor": None}, "rescale_factor is None"),
        ({**DETR, "do_normalize": "false"}, "do_normalize is 'false', expected true or false"),
        ({**VIT, "do_pad": True}, "do_pad is True, expected False"),
        ({**VIT, "resample": None}, "resample is None"),
        ({**VIT, "size": {"height": 16, "width": 16}}, "32 or more"),
        ({**CLIP, "crop_size": {"height": 256, "width": 256}}, "the centre must fit"),
        ({**CLIP, "crop_size": None}, "crop_size is None"),
        (
            {**CLIP, "size": {"height": 256, "width": 256}},
            "crop_size is {'height': 224, 'width': 224}, expected the size",
        ),
        ({**CLIP, "do_resize": False}, "do_center_crop is True"),
        ({**MOBILEVIT, "do_normalize": True}, "do_normalize is True, expected False"),
        ({**DPT, "do_center_crop": True}, "do_center_crop is True, expected False where keep_aspect_ratio is True"),
        ({**DPT, "size": {"height": 16, "width": 518}}, r"got fit_size \(16, 518\), expected .* 32 or more"),
        ({**DPT, "size": {"shortest_edge": 518}}, "size is .*, expected height and width where keep_aspect_ratio is T"),
        ({**DPT, "keep_aspect_ratio": "false"}, "keep_aspect_ratio is 'false', expected true or false"),
        ({**DPT, "ensure_multiple_of": 1.5}, "got multiple_of 1.5"),
        ({**VIT, "image_processor_type": "ConvNextImageProcessor"}, "size is {'height': 224"),
    ],
)
def test_transformers(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=rf"^preprocessor_config.json: .*{words}"):
        from_transformers(fields)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"interpolation": "lanczos"}, "interpolation is 'lanczos'"),
        ({"interpolation": "random"}, "interpolation is 'random'"),
        ({"input_size": (1, 224, 224)}, "input_size is .1, 224, 224."),
        ({"input_size": (3, 224, 320)}, "input_size is .3, 224, 320., expected a square"),
        ({"crop_mode": "border"}, "crop_mode is 'border'"),
        ({"crop_mode": "squash"}, "crop_pct is 0.875"),
        ({"mean": (0.5,)}, "mean is"),
        ({"first_conv": "conv1"}, "first_conv has no counterpart"),
    ],
)
def test_timm(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=f"^timm's data config: {words}"):
        from_timm({**TIMM, **changes})


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({**PRESET, "interpolation": "nearest"}, "interpolation is 'nearest'"),
        ({**PRESET, "antialias": False}, "antialias is False"),
        ({**PRESET, "antialias": None}, "antialias is None"),
        ({**PRESET, "resize_size": [128, 171], "crop_size": [112, 112]}, "crop_size is .112, 112."),
        ({**PRESET, "resize_size": None}, "crop_size is .224., expected a resize_size"),
        ({**PRESET, "crop_size": [288]}, "the centre must fit"),
        ({**PRESET, "min_temporal_size": 16}, "min_temporal_size has no counterpart"),
    ],
)
def test_torchvision(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=f"^torchvision's transforms: .*{words}"):
        from_torchvision(fields)


def test_files_of_older_versions() -> None:
    """DETR's of version 4.0: one number as size, max_size, and no word of what it always does."""
    old = {
        "do_normalize": True,
        "do_resize": True,
        "feature_extractor_type": "DetrFeatureExtractor",
        "format": "coco_detection",
        "image_mean": MEAN,
        "image_std": STD,
        "max_size": 1333,
        "size": 800,
    }
    assert from_transformers(old) == from_transformers(DETR)
    assert from_transformers({**old, "image_processor_type": "DetrImageProcessorFast"}) == from_transformers(DETR)
    square = {**old, "feature_extractor_type": "ViTFeatureExtractor", "size": 224}
    del square["max_size"]
    assert from_transformers(square) == from_transformers(VIT)


def test_what_is_written() -> None:
    """As a config has it: only the keys that matter."""
    assert from_transformers(DETR) == {
        "resize": "shortest",
        "shortest_edge": 800,
        "longest_edge": 1333,
        "size_divisor": 1,
        "interpolation": "antialias",
        "mean": tuple(MEAN),
        "std": tuple(STD),
    }
    assert from_timm(TIMM) == {
        "size": (224, 224),
        "resize": "shortest",
        "shortest_edge": 256,
        "crop_rounding": "even",
        "interpolation": "antialias_bicubic",
        "mean": tuple(MEAN),
        "std": tuple(STD),
    }
    assert from_torchvision({}) == {"resize": "keep", "size_divisor": 1}


def test_what_a_file_does_not_say_is_the_processors_own_default() -> None:
    silent = {name: value for name, value in MOBILEVIT.items() if name != "do_flip_channel_order"}
    assert from_transformers(silent)["channel_order"] == "bgr"
    rt_detr = {name: value for name, value in DETR.items() if name != "do_normalize"}
    assert "mean" not in from_transformers({**rt_detr, "image_processor_type": "RTDetrImageProcessor"})
    assert from_transformers({**DETR, "image_processor_type": "Mask2FormerImageProcessor"})["multiple_of"] == 32


@pytest.mark.parametrize(
    "change", [{"resample": [2]}, {"rescale_factor": "x"}, {"rescale_factor": [1]}, {"size": {"height": 0, "width": 1}}]
)
def test_values_of_a_wrong_kind_are_one_line(change: dict[str, Any]) -> None:
    with pytest.raises(InputError) as raised:
        from_transformers({**VIT, **change})
    assert str(raised.value).startswith("preprocessor_config.json: ")
    with pytest.raises(InputError, match="timm's data config: a field has a value of the wrong kind"):
        from_timm({**TIMM, "crop_pct": "0.9"})
