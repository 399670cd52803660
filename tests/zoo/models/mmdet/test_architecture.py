"""What is read of an mmdetection config, and what is refused; no mmdetection is needed."""

import sys
from pathlib import Path

import pytest

from zoo.build import build_section
from zoo.codebases.as_deployed import as_deployed
from zoo.errors import BackendUnavailableError, InputError
from zoo.models.mmdet.architecture import model_section
from zoo.models.mmdet.image_input import ImageInput

SECTION = {
    "type": "RetinaNet",
    "data_preprocessor": {"type": "DetDataPreprocessor", "mean": [1, 2, 3], "std": [4, 5, 6], "bgr_to_rgb": True},
    "backbone": {"type": "ResNet", "init_cfg": {"type": "Pretrained", "checkpoint": "torchvision://resnet50"}},
    "bbox_head": [{"type": "Head", "pretrained": "weights.pth", "num_classes": 5}],
}


def test_keys_that_name_weights_are_left_out() -> None:
    section = model_section(SECTION)
    assert section["backbone"] == {"type": "ResNet"}
    assert section["bbox_head"] == [{"type": "Head", "num_classes": 5}]
    assert "init_cfg" in SECTION["backbone"]


def test_batch_norms_of_several_devices_become_plain_ones() -> None:
    """mmcv's own cannot be built outside a distributed training."""
    norms = {"neck": {"norm_cfg": {"type": "MMSyncBN", "requires_grad": True}}, "head": {"norm_cfg": {"type": "GN"}}}
    assert as_deployed(norms) == {
        "neck": {"norm_cfg": {"type": "BN", "requires_grad": True}},
        "head": {"norm_cfg": {"type": "GN"}},
    }


def test_the_weights_of_a_teacher_are_not_followed() -> None:
    assert model_section({**SECTION, "teacher_ckpt": "https://nowhere.invalid/paa.pth"}) == model_section(SECTION)


@pytest.mark.parametrize("kind", ["KnowledgeDistillationSingleStageDetector", "mmdet.LAD"])
def test_a_detector_that_learned_from_a_teacher_is_built_without_it(kind: str) -> None:
    teacher = {"teacher_config": "configs/gfl.py", "teacher_backbone": {"type": "ResNet"}, "eval_teacher": False}
    assert model_section({**SECTION, "type": kind, **teacher}) == model_section(
        {**SECTION, "type": "SingleStageDetector"}
    )


def test_a_file_gives_its_section_and_the_preprocessor_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "detector.py"
    path.write_text("data_preprocessor = dict(type='DetDataPreprocessor', std=[2, 2, 2])\nmodel = dict(type='SSD')\n")
    assert model_section(path) == {
        "type": "SSD",
        "data_preprocessor": {"type": "DetDataPreprocessor", "std": [2, 2, 2]},
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file; give the path of an mmdetection config"),
        ("model = 3", 'no section "model"; give an mmdetection config'),
        ("model = dict(type=", "not a readable mmdetection config: SyntaxError"),
    ],
)
def test_files_that_are_none(content: str | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "detector.py"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match=message):
        model_section(path)


def test_the_images_of_a_model() -> None:
    given = ImageInput.of({**SECTION["data_preprocessor"], "pad_size_divisor": 32})
    assert given == ImageInput((1.0, 2.0, 3.0), (4.0, 5.0, 6.0), False, 32)
    assert ImageInput.of(None) == ImageInput((0.0,) * 3, (1.0,) * 3, True, 1)
    assert ImageInput.of({"type": "mmdet.DetDataPreprocessor"}).is_bgr


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"type": "MultiBranchDataPreprocessor"}, "got type 'MultiBranchDataPreprocessor', expected 'DetDataPre"),
        ({"type": "DetDataPreprocessor", "pad_value": 114}, "got pad_value=114, expected 0"),
    ],
)
def test_images_that_are_refused(section: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ImageInput.of(section)


@pytest.mark.parametrize("library", ["mmcv", "mmdet"])
def test_a_library_that_is_missing_is_named(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mmcv", sys)  # there, unless it is the missing one
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(BackendUnavailableError, match=rf'{library} is not installed.*"zooport\[mmdet\]"'):
        build_section({"type": "MmdetDetector", "config": SECTION})
