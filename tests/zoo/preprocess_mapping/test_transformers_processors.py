"""Mapped processors of transformers beside the processors themselves, on photographs."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from tests.zoo.preprocess_mapping.photographs import check_same, columns_first, photographs
from zoo.errors import InputError
from zoo.preprocess_mapping import from_transformers
from zoo.preprocess_mapping.image_processors import IMAGE_PROCESSORS

pytestmark = pytest.mark.libraries
transformers = pytest.importorskip("transformers", reason="compares with transformers' own image processors")
PHOTOGRAPHS = photographs()

DEPTH_ANYTHING = {"size": {"height": 518, "width": 518}, "keep_aspect_ratio": True, "ensure_multiple_of": 14}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "stretch": ("RTDetr", {"size": {"height": 320, "width": 480}}),
    "stretch, normalised": ("RTDetr", {"size": {"height": 512, "width": 512}, "do_normalize": True}),
    "stretch, bicubic": ("Beit", {"size": {"height": 224, "width": 256}}),
    "stretch, ViT": ("ViT", {}),
    "stretch, PVT": ("Pvt", {}),
    "stretch, SigLIP": ("Siglip", {}),
    "stretch, SegFormer": ("Segformer", {"size": {"height": 256, "width": 384}}),
    "stretch, DPT": ("DPT", {"size": {"height": 250, "width": 330}, "ensure_multiple_of": 14}),
    "nearest scale, Depth Anything": ("DPT", DEPTH_ANYTHING),
    "nearest scale, smaller images": ("DPT", {**DEPTH_ANYTHING, "size": {"height": 1000, "width": 900}}),
    "nearest scale, one of two": ("DPT", {**DEPTH_ANYTHING, "size": {"height": 330, "width": 600}}),
    "edges, DETR": ("Detr", {"size": {"shortest_edge": 300, "longest_edge": 420}}),
    "edges, Conditional DETR": ("ConditionalDetr", {"size": {"shortest_edge": 480, "longest_edge": 800}}),
    "edges, Deformable DETR": ("DeformableDetr", {"size": {"shortest_edge": 333, "longest_edge": 499}}),
    "edges, multiples": ("Mask2Former", {"size": {"shortest_edge": 320, "longest_edge": 500}}),
    "edges, MaskFormer": ("MaskFormer", {"size": {"shortest_edge": 400, "longest_edge": 1333}, "size_divisor": 0}),
    "edges, OneFormer": ("OneFormer", {"size": {"shortest_edge": 360, "longest_edge": 500}}),
    "centre, bicubic": ("CLIP", {}),
    "centre, other size": ("Bit", {"size": {"shortest_edge": 256}, "crop_size": {"height": 200, "width": 225}}),
    "centre, bilinear": ("MobileNetV1", {}),
    "centre, MobileNetV2": ("MobileNetV2", {"crop_size": {"height": 223, "width": 223}}),
    "centre, part": ("ConvNext", {"size": {"shortest_edge": 224}}),
    "part, whole": ("ConvNext", {}),
    "centre, BGR": ("MobileViT", {"size": {"shortest_edge": 288}, "crop_size": {"height": 256, "width": 256}}),
    "edge, SigLIP": ("Siglip", {"size": 224}),
    "edge, max_size of no meaning": ("MobileNetV1", {"size": 224, "max_size": 300, "do_center_crop": False}),
    "as it is": ("Segformer", {"do_resize": False}),
    "bytes": ("Segformer", {"do_rescale": False, "image_mean": [120.0, 110.0, 100.0], "image_std": [60.0, 57.0, 58.0]}),
    "bytes, not normalised": ("ViT", {"do_rescale": False, "do_normalize": False}),
    "another factor": ("ViT", {"rescale_factor": 1 / 127.5, "image_mean": [1.0] * 3, "image_std": [1.0] * 3}),
}


@pytest.mark.parametrize("backend", ["", "Pil"])
@pytest.mark.parametrize("case", CASES)
def test_a_grey_level_at_most(case: str, backend: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(Image.Image, "resize", columns_first)
    name, options = CASES[case]
    if name == "OneFormer":  # its classes would come from the Hub
        (tmp_path / "classes.json").write_text('{"0": {"isthing": 1, "name": "cat"}}')
        options = {**options, "repo_path": str(tmp_path), "class_info_file": "classes.json"}
    processor = getattr(transformers, f"{name}ImageProcessor{backend}")(**options)
    preprocess = from_transformers(json.loads(processor.to_json_string()))
    for photograph in PHOTOGRAPHS.values():
        texts = {"task_inputs": ["semantic"]} if name == "OneFormer" else {}
        theirs = processor(photograph, return_tensors="pt", **texts)["pixel_values"][0]
        check_same(preprocess, photograph, torch.as_tensor(theirs, dtype=torch.float32))


@pytest.mark.parametrize("more", [{}, {"max_size": 500}])
@pytest.mark.parametrize("name", sorted(set(IMAGE_PROCESSORS) - {"DPT", "OneFormer", "RTDetr"}))
def test_a_size_of_one_number_as_old_files_have_it(name: str, more: dict[str, int]) -> None:
    """Not DPT, which has no such files, OneFormer, which reads its classes, and RTDetr, which then resizes nothing."""
    fields = {"size": 256, "crop_size": 256, **more}
    kind = getattr(transformers, f"{name}ImageProcessor")
    theirs = json.loads(kind(**fields).to_json_string())
    given = {field: value for field, value in theirs.items() if field not in ("size", "crop_size")}
    assert from_transformers({**given, **fields}) == from_transformers(theirs)


@pytest.mark.parametrize("field", ["do_rescale", "do_normalize", "do_resize", "do_center_crop"])
def test_null_is_false_as_the_library_has_it(field: str) -> None:
    """Not the default of the class, whatever its name suggests."""
    photograph = next(iter(PHOTOGRAPHS.values()))
    kind = transformers.CLIPImageProcessor
    fields = json.loads(kind().to_json_string())
    null, false = (kind(**{field: value})(photograph, return_tensors="pt")["pixel_values"] for value in (None, False))
    assert torch.equal(null, false)
    if field != "do_resize":  # a centre without a resize is refused
        assert from_transformers({**fields, field: None}) == from_transformers({**fields, field: False})


def test_a_processor_that_is_not_known_is_refused() -> None:
    fields = json.loads(transformers.LevitImageProcessor().to_json_string())
    with pytest.raises(InputError, match="image_processor_type is 'LevitImageProcessor', whose code is not known"):
        from_transformers(fields)
