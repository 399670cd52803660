"""Values of another kind in configs of OpenMMLab: each is refused in one line that names it, and none is a fault."""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.small_mmdet import SECTIONS, WITH_MASKS, WITH_WHOLE_MASKS
from tests.translated_segmentors import TRANSLATED, mmseg_section
from tests.zoo.codebases.small_configs import MEAN, MODEL, config_content
from zoo.codebases import CodebaseConfig, known_codebases
from zoo.errors import InputError

WRONG: tuple[Any, ...] = ("x", 7, None, [], ["x"], {"type": 5})
SLIDE = {"mode": "slide", "crop_size": (48, 48), "stride": (32, 32)}
DATASET = {"type": "ADE20KDataset", "data_root": "data", "data_prefix": {"img_path": "images/validation"}}
COCO = {"type": "CocoDataset", "data_root": "data", "ann_file": "val.json", "data_prefix": {"img": "val2017"}}
LOAD, PACK = {"type": "LoadImageFromFile", "imdecode_backend": "cv2"}, {"type": "PackSegInputs"}
RESIZE = {"type": "Resize", "scale": (64, 64), "keep_ratio": True, "backend": "cv2"}
PADS = ({"size": (64, 64), "pad_val": {"img": (1, 2, 3)}}, {"size_divisor": 32, "pad_val": 0})
NORMALIZE = {"type": "Normalize", "mean": MEAN, "std": MEAN}
TRANSFORMS = ("test_dataloader", "dataset", "pipeline")
PIPELINES = [[LOAD, RESIZE, {"type": "Pad", **pad}, PACK] for pad in PADS]


def of_mmseg(model: Mapping[str, Any], **dataset: Any) -> dict[str, Any]:
    return config_content({**MODEL, **model, "test_cfg": SLIDE}, **{"pipeline": PIPELINES[0], **DATASET, **dataset})


def of_mmdet(name: str) -> dict[str, Any]:
    section = {**SECTIONS, **WITH_MASKS, **WITH_WHOLE_MASKS}[name]()
    dataset = {**COCO, "pipeline": [LOAD, RESIZE, {"type": "PackDetInputs"}]}
    return {"default_scope": "mmdet", "model": section, "test_dataloader": {"dataset": dataset}}


CONFIGS: dict[str, dict[str, Any]] = {
    **{name: of_mmseg(mmseg_section(name)) for name in TRANSLATED},
    "fcn": of_mmseg({}),
    "padded": of_mmseg({}, pipeline=PIPELINES[1]),
    "normalised": of_mmseg({"data_preprocessor": {"type": "SegDataPreProcessor"}}, pipeline=[LOAD, NORMALIZE, PACK]),
    **{name: of_mmdet(name) for name in ("retinanet", "mask_rcnn", "solo", "mask2former")},
}


def places(value: Any) -> Iterator[tuple[Any, ...]]:
    """The keys and numbers that lead to every value within this one."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list | tuple) else ()
    for key, inner in pairs:
        yield (key,)
        yield from ((key, *rest) for rest in places(inner))


def changed(value: Any, place: tuple[Any, ...], other: Any) -> Any:
    """A copy with another value at a place."""
    if not place:
        return other
    key, *rest = place
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    inner = {each: changed(one, tuple(rest), other) if each == key else one for each, one in pairs}
    return inner if isinstance(value, dict) else list(inner.values())


@pytest.mark.parametrize("name", CONFIGS)
def test_no_wrong_value_is_a_fault_of_zooport(name: str) -> None:
    codebase = known_codebases()[CONFIGS[name]["default_scope"]]
    codebase.translate(CodebaseConfig(Path("my.py"), deepcopy(CONFIGS[name])))
    refusals = []
    for place in places(CONFIGS[name]):
        for value in WRONG:
            try:
                codebase.translate(CodebaseConfig(Path("my.py"), changed(CONFIGS[name], place, value)))
            except InputError as error:
                refusals.append(str(error))
            except Exception as error:
                error.add_note(f"{'.'.join(map(str, place))} = {value!r}")
                raise
    assert len(refusals) > 100
    assert "\n" not in "".join(refusals)


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("model", "backbone"), None, "model: no backbone, expected a dict; add it"),
        (("model", "backbone"), "x", "model: backbone is 'x', expected a dict; correct it"),
        (("model", "decode_head"), [], "model: decode_head is [], expected a dict, or a list of them"),
        (("model", "decode_head", "num_classes"), "3", "num_classes is '3', expected an integer, 1 or more"),
        (("model", "decode_head", "num_classes"), 1, "one output channel, which a threshold decides"),
        (("model", "test_cfg"), "slide", "model: test_cfg is 'slide', expected a dict"),
        (("model", "test_cfg"), {"mode": "slide"}, "model.test_cfg: no crop_size, expected two integers"),
        (("model", "test_cfg", "stride"), 32, "model.test_cfg: stride is 32, expected two integers, 1 or more"),
        (("model", "test_cfg", "crop_size"), (0, 0), "model.test_cfg: crop_size is (0, 0), expected two integers"),
        (("model", "data_preprocessor"), [1], "data_preprocessor is [1], expected a dict"),
        (("model", "data_preprocessor", "mean"), ["a", "b", "c"], "mean is ['a', 'b', 'c'], expected three numbers"),
        (("model", "data_preprocessor", "pad_val"), [1, 2, 3], "pad_val is [1, 2, 3], expected a number;"),
        (("model", "backbone", "norm_cfg"), "BN", "backbone ResNetV1c: norm_cfg is 'BN', expected a dict"),
        ((*TRANSFORMS, 2, "pad_val"), "a", "Pad: pad_val is 'a', expected a number, or three of them"),
        ((*TRANSFORMS, 2, "pad_val", "img"), (1, 2), "Pad: pad_val: img is (1, 2), expected a number, or three"),
        ((*TRANSFORMS, 2), {"type": "Pad", "size_divisor": "x"}, "Pad: size_divisor is 'x', expected an integer"),
        ((*TRANSFORMS, 2), {"type": "Normalize"}, "Normalize: no mean, expected three numbers"),
        ((*TRANSFORMS, 1, "backend"), "pillow", "Resize: backend is 'pillow', expected 'cv2'"),
        (("test_dataloader",), [1], "test_dataloader is [1], expected a dict"),
        (("test_dataloader", "dataset", "data_prefix"), "x", "test data set: data_prefix is 'x', expected a dict"),
    ],
)
def test_the_value_is_named(place: tuple[Any, ...], value: Any, words: str) -> None:
    content = changed(CONFIGS["fcn"], place, value)
    with pytest.raises(InputError, match=re.escape(words)):
        known_codebases()["mmseg"].translate(CodebaseConfig(Path("my.py"), content))


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("model", "backbone"), 7, "model: backbone is 7, expected a dict"),
        (("model", "bbox_head", "num_classes"), 0, "model.bbox_head: num_classes is 0, expected an integer, 1"),
        (("model", "data_preprocessor", "pad_size_divisor"), "x", "pad_size_divisor is 'x', expected an integer"),
        (("test_dataloader", "dataset", "data_prefix"), "x", "test data set: data_prefix is 'x', expected a dict"),
    ],
)
def test_the_value_of_a_detector_is_named(place: tuple[Any, ...], value: Any, words: str) -> None:
    content = changed(CONFIGS["retinanet"], place, value)
    with pytest.raises(InputError, match=re.escape(words)):
        known_codebases()["mmdet"].translate(CodebaseConfig(Path("my.py"), content))
