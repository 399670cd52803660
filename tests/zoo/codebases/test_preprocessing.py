"""The transforms of a test as a config's `preprocess`, and the refusal of what has no counterpart."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageOps

from tests.zoo.codebases.small_configs import MEAN, MODEL, PREPROCESSOR, config_content
from zoo.codebases import CodebaseConfig
from zoo.codebases.preprocessing import preprocess_of
from zoo.errors import InputError
from zoo.image_pixels import decode_pixels

LOAD, LABELS, PACK = {"type": "LoadImageFromFile"}, {"type": "LoadAnnotations"}, {"type": "mmdet.PackDetInputs"}
NORMALIZED = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}
BYTES = {"type": "DetDataPreprocessor", "pad_size_divisor": 32}
SQUARE = {"type": "Resize", "scale": (640, 640), "keep_ratio": True}
MMCV = {"interpolation": "bilinear", "side_rounding": "half_up"}


def section(*transforms: dict[str, Any], preprocessor: dict[str, Any] = PREPROCESSOR) -> dict[str, Any]:
    model = {**MODEL, "data_preprocessor": preprocessor}
    content = config_content(model, [LOAD, *transforms, LABELS, PACK])
    return preprocess_of(CodebaseConfig(Path("my.py"), content))


def test_the_shorter_edge() -> None:
    expected = {"resize": "shortest", "shortest_edge": 512, "longest_edge": 2048, "size_divisor": 1}
    resize = {"type": "Resize", "scale": (2048, 512), "keep_ratio": True}
    assert section(resize) == {**expected, **MMCV, **NORMALIZED}


@pytest.mark.parametrize(
    ("scale", "keeps", "pad"),
    [((1000, 600), False, {"size_divisor": 32}), ((600, 600), True, {"pad_to_square": True, "size_divisor": 32})],
)
def test_a_padding_that_a_fixed_size_is_no_multiple_of_is_refused(
    scale: tuple[int, int], keeps: bool, pad: dict[str, Any]
) -> None:
    resize = {"type": "Resize", "scale": scale, "keep_ratio": keeps}
    with pytest.raises(InputError, match="its size is no multiple of the 32 of Pad; make it one"):
        section(resize, {"type": "Pad", **pad})
    assert section({**resize, "scale": (640, 640)}, {"type": "Pad", **pad})["size"] == (640, 640)


def stored(image: Image.Image, kind: str, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def test_pillow_and_opencv_decode_the_same_pixels() -> None:
    """So imdecode_backend="pillow" of a config is no difference, for JPEG and PNG files of 8 bits."""
    generator = np.random.default_rng(0)
    coarse = generator.integers(0, 256, (7, 5, 3)).astype(np.uint8)
    image = Image.fromarray(coarse).resize((101, 67), Image.Resampling.BICUBIC)
    noisy = np.clip(np.asarray(image, int) + generator.integers(-30, 31, (67, 101, 3)), 0, 255).astype(np.uint8)
    image = Image.fromarray(noisy)
    turned = Image.Exif()
    turned[0x0112] = 6
    files = [
        *(stored(image, "JPEG", quality=q, subsampling=s) for q in (40, 75, 95) for s in (0, 1, 2)),
        *(stored(image.convert(mode), "PNG") for mode in ("RGB", "RGBA", "P", "L", "LA")),
        *(stored(image.convert("L"), "JPEG"), stored(image, "JPEG", exif=turned)),
    ]
    for content in files:
        upright = ImageOps.exif_transpose(Image.open(io.BytesIO(content))).convert("RGB")
        assert np.array_equal(decode_pixels(content), np.asarray(upright)[..., ::-1])
    loads = [{"type": "LoadImageFromFile", "imdecode_backend": kind} for kind in ("pillow", "cv2")]
    sections = [preprocess_of(CodebaseConfig(Path("my.py"), config_content(MODEL, [load, PACK]))) for load in loads]
    assert sections[0] == sections[1]


def test_a_stretch() -> None:
    resize = {"type": "mmcv.Resize", "scale": (300, 200), "keep_ratio": False, "interpolation": "area"}
    assert section(resize) == {"size": (200, 300), "resize": "stretch", "interpolation": "area", **NORMALIZED}


def test_no_resize() -> None:
    assert section() == {"resize": "keep", "size_divisor": 1, **NORMALIZED}


@pytest.mark.parametrize("size", [{"size": (640, 640)}, {"pad_to_square": True}])
def test_a_letterbox(size: dict[str, Any]) -> None:
    pad = {"type": "Pad", **size, "pad_val": {"img": (114, 114, 114)}}
    expected = {"size": (640, 640), "resize": "letterbox", "pad_value": 114, **MMCV}
    raw = {"mean": (0.0, 0.0, 0.0), "std": (round(1 / 255, 12),) * 3, "channel_order": "bgr"}
    assert section(SQUARE, pad, preprocessor=BYTES) == {**expected, **raw}


def test_padding_after_the_normalisation_is_the_mean_before_it() -> None:
    resize = {"type": "Resize", "scale": (1333, 800), "keep_ratio": True}
    expected = {"resize": "shortest", "shortest_edge": 800, "longest_edge": 1333, "size_divisor": 32, **MMCV}
    rgb = {**PREPROCESSOR, "pad_size_divisor": 32}
    assert section(resize, preprocessor=rgb) == {**expected, **NORMALIZED, "pad_value": tuple(MEAN)}
    bgr = {**rgb, "bgr_to_rgb": False}  # the mean is in the model's order, the padding in that of the tensor, RGB
    assert section(resize, preprocessor=bgr)["pad_value"] == tuple(MEAN[::-1])
    assert section(preprocessor={**PREPROCESSOR, "test_cfg": {"size_divisor": 32}})["size_divisor"] == 32


def test_padding_before_the_normalisation() -> None:
    padded = section({"type": "Pad", "size_divisor": 32, "pad_val": {"img": (1, 2, 3)}})  # of BGR
    assert (padded["size_divisor"], padded["pad_value"]) == (32, (3, 2, 1))


def test_a_transform_that_normalises() -> None:
    normalize = {"type": "Normalize", "mean": MEAN, "std": [58.395, 57.12, 57.375], "to_rgb": True}
    assert section(normalize, preprocessor={"type": "SegDataPreProcessor"}) == section()
    with pytest.raises(InputError, match="bgr_to_rgb is True, and the Normalize of the test pipeline says the order"):
        section(normalize, preprocessor={"type": "SegDataPreProcessor", "bgr_to_rgb": True})


@pytest.mark.parametrize("to_rgb", [True, False])
def test_padding_by_a_transform_after_one_that_normalises(to_rgb: bool) -> None:
    normalize = {"type": "Normalize", "mean": MEAN, "std": [10.0, 20.0, 30.0], "to_rgb": to_rgb}
    pad = {"type": "Pad", "size_divisor": 32, "pad_val": (0, 0, 1)}
    padded = section(normalize, pad, preprocessor={"type": "SegDataPreProcessor"})
    values = (MEAN[0], MEAN[1], MEAN[2] + 30)
    assert padded["pad_value"] == (values if to_rgb else values[::-1])


@pytest.mark.parametrize(
    ("transform", "words"),
    [
        ({"type": "RandomFlip", "prob": 0.5}, "RandomFlip mirrors images in the test"),
        (
            {"type": "TestTimeAug", "transforms": []},
            "TestTimeAug has no counterpart in zooport, which deploys one pass",
        ),
        ({"type": "MyFilter"}, "test pipeline: MyFilter has no counterpart in zooport"),
        ({"type": "Resize", "scale_factor": 0.5}, "Resize: scale_factor is 0.5, expected a scale"),
        ({"type": "Resize", "scale": (64, 64), "interpolation": "bicubic"}, "interpolation is 'bicubic', expected 'b"),
        (
            {"type": "Resize", "scale": (64, 64), "kepp_ratio": True},
            'Resize: unknown key "kepp_ratio"; nearest: "keep_',
        ),
        ({"type": "Pad", "size": (64, 64)}, "Pad to a size without a Resize before it"),
        ({"type": "Pad", "size_divisor": 32, "padding_mode": "edge"}, "padding_mode is 'edge', expected 'constant'"),
        ({"type": "LoadImageFromFile", "imdecode_backend": "turbojpeg"}, "imdecode_backend is 'turbojpeg', expected"),
        ({"type": "LoadImageFromFile", "color_type": "grayscale"}, "color_type is 'grayscale', expected 'color'"),
        ({"type": "ResizeShortestEdge", "scale": 64, "max_size": 150}, "in zooport, whose resizes round a side once"),
        ({"type": "LetterResize", "scale": (64, 64)}, "LetterResize puts the image at the centre"),
        ({"type": "Normalize", "mean": MEAN, "std": MEAN}, "mean is there, and the test pipeline normalises as well"),
    ],
)
def test_what_cannot_be_mapped_is_named(transform: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        section(transform)


def test_a_rectangle_is_refused() -> None:
    with pytest.raises(InputError, match="expected one square and keep_ratio=True"):
        section({"type": "Resize", "scale": (96, 64), "keep_ratio": True}, {"type": "Pad", "size": (96, 64)})


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"mean": [1.0]}, r"data_preprocessor: mean is \[1.0\], expected three numbers"),
        ({"rgb_to_bgr": True}, "rgb_to_bgr is True, expected False"),
        ({"new": 1}, 'data_preprocessor: unknown key "new"'),
        ({"test_cfg": {"size": (64, 64)}}, 'data_preprocessor: test_cfg: unknown key "size"'),
    ],
)
def test_a_preprocessor_that_cannot_be_mapped(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        section(preprocessor={**PREPROCESSOR, **fields})


def test_no_pipeline() -> None:
    content = {key: value for key, value in config_content().items() if key != "test_dataloader"}
    with pytest.raises(InputError, match="my.py: no test_dataloader.dataset.pipeline and no test_pipeline"):
        preprocess_of(CodebaseConfig(Path("my.py"), content))
    content["test_pipeline"] = [LOAD]
    assert preprocess_of(CodebaseConfig(Path("my.py"), content))["resize"] == "keep"
