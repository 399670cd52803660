"""Models of mmsegmentation itself: zooport's translation of them, and the adapter of what it does not translate."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from rewriters import export_onnx
from tests.small_mmseg_segmentors import MODELS, OF_MMDET, SLIDE, UNTRANSLATED, model
from tests.translated_segmentors import OF_ONE_SIZE, TRANSLATED, in_use, mmseg_section, translated
from tests.zoo.codebases.small_configs import BACKBONE, HEAD, MODEL, config_content
from zoo.build import build_section
from zoo.checkpoint import load_state, state_for
from zoo.codebases import CodebaseConfig, codebase_of
from zoo.families import contract_module, family_of
from zoo.models.mmseg import MmsegSegmentor
from zoo.random_weights import learn_statistics
from zoo.target import AxisRange, Target
from zoo.tasks import build_task

pytestmark = [
    pytest.mark.openmmlab,
    pytest.mark.filterwarnings("ignore::Warning:mmcv"),
    pytest.mark.filterwarnings("ignore::Warning:mmseg"),
    pytest.mark.filterwarnings("ignore:.* is deprecated in .FFN:DeprecationWarning"),  # by K-Net's own head
    pytest.mark.filterwarnings("ignore:torch.meshgrid"),  # by mmdetection's points
]
pytest.importorskip("mmcv", reason="the extra mmseg is not installed")
pytest.importorskip("ftfy", reason="the extra mmseg is not installed")

IMAGES = (64, 96)
ODD, SQUARE = (72, 104), (96, 96)  # the first has a map of 9 x 13, which is no multiple of anything
NEAR, EQUAL = 1e-4, 1e-8  # of the range of the logits, in float32 and in float64
TASK = build_task(
    {
        "type": "SemanticSegmentation",
        "classes": [{"name": str(index), "category_id": index} for index in range(3)],
    }
)


def sample(count: int, height: int = IMAGES[0], width: int = IMAGES[1]) -> Tensor:
    """Normalised images with large and small shapes."""
    generator = torch.Generator().manual_seed(0)
    coarse = torch.randn(count, 3, height // 8, width // 8, generator=generator)
    return nn.functional.interpolate(coarse, (height, width), mode="bilinear")


def adapted(section: dict[str, Any]) -> Any:
    """mmsegmentation's own model, with random weights, and batch norms with the statistics of images."""
    torch.manual_seed(0)
    segmentor: Any = build_section({"type": "MmsegSegmentor", "config": section})
    in_use(segmentor)
    for module in segmentor.modules():
        if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
    learn_statistics(segmentor, lambda: segmentor.encode_decode(sample(4)), passes=1)
    return segmentor


def part_of_range(expected: Tensor, actual: Tensor) -> float:
    return float((expected - actual).abs().max() / (expected.max() - expected.min()))


@pytest.mark.parametrize("mode", [{"mode": "whole"}, SLIDE], ids=["whole", "slide"])
@pytest.mark.parametrize("corners", [False, True])
def test_a_translation_gives_mmsegs_logits(mode: dict[str, Any], corners: bool) -> None:
    section = {**MODEL, "decode_head": {**HEAD, "align_corners": corners}, "test_cfg": mode}
    content = config_content(section)
    codebase = codebase_of(content, "my.py")
    assert codebase is not None
    ours: Any = build_section(codebase.translate(CodebaseConfig(Path("my.py"), content)).content["model"])
    theirs = adapted(section)
    state = {name.removeprefix("model."): tensor for name, tensor in theirs.state_dict().items()}
    load_state(ours, state_for(ours, state, "mmseg"), "mmseg")
    with torch.no_grad():
        assert part_of_range(theirs(sample(2)), ours.eval()(sample(2))) < NEAR


@pytest.mark.parametrize("name", TRANSLATED)
def test_each_part_gives_mmsegs_logits(name: str) -> None:
    theirs, ours = adapted(mmseg_section(name)).double(), translated(name).double()
    state = {name.removeprefix("model."): tensor for name, tensor in theirs.state_dict().items()}
    load_state(ours, state_for(ours, state, "mmseg"), "mmseg")
    for size in [IMAGES] if name in OF_ONE_SIZE else [IMAGES, ODD, SQUARE]:
        images = sample(2, *size).double()
        with torch.no_grad():
            assert part_of_range(theirs(images), ours(images)) < EQUAL, size


@pytest.mark.parametrize("name", ["hrnet-ocr", "psa", "segmenter", "swin-uper"])
def test_windows_of_a_translation_give_mmsegs_logits(name: str) -> None:
    theirs = adapted(mmseg_section(name, test_cfg=SLIDE)).double()
    ours = translated(name, test_cfg=SLIDE).double()
    state = {name.removeprefix("model."): tensor for name, tensor in theirs.state_dict().items()}
    load_state(ours, state_for(ours, state, "mmseg"), "mmseg")
    assert ours.slides
    with torch.no_grad():
        images = sample(2).double()
        assert part_of_range(theirs(images), ours(images)) < EQUAL


@pytest.mark.parametrize("name", UNTRANSLATED)
def test_what_is_not_translated_is_adapted(name: str) -> None:
    content = config_content(UNTRANSLATED[name])
    codebase = codebase_of(content, "my.py")
    assert codebase is not None
    translation = codebase.translate(CodebaseConfig(Path("my.py"), content))
    assert translation.content["model"]["type"] == "MmsegSegmentor"
    assert translation.notes["model"].startswith("mmsegmentation itself builds this model (extra mmseg): ")
    assert isinstance(build_section(translation.content["model"]), MmsegSegmentor)


@pytest.mark.parametrize("exporter", ["dynamo", "torchscript"])
@pytest.mark.parametrize("slide", [False, True], ids=["whole", "slide"])
@pytest.mark.parametrize("name", [*MODELS, *UNTRANSLATED, *OF_MMDET])
def test_exported(name: str, slide: bool, exporter: str, tmp_path: Path) -> None:
    from onnxruntime import InferenceSession

    if name in OF_MMDET:
        pytest.importorskip("mmdet", reason="the extra mmdet is not installed", exc_type=ImportError)
    section = {**MODELS, **UNTRANSLATED, **OF_MMDET}[name]
    segmentor = adapted(section | {"test_cfg": section["test_cfg"] | (SLIDE if slide else {"mode": "whole"})})
    sides = {"height": AxisRange.fixed(IMAGES[0]), "width": AxisRange.fixed(IMAGES[1])}
    target = Target({"batch": AxisRange(1, 2, 3), **sides}, exporter=exporter, level="decoded")
    images = sample(3)
    with torch.no_grad():
        expected = segmentor(images)
    contract = contract_module(segmentor, TASK, "decoded", {})
    required = ["zoo.MmsegSegmentor.slide_inference"] if slide else []
    specs = TASK.outputs("decoded")
    path = tmp_path / "m.onnx"
    export_onnx(contract, target, path, example={"images": images[:2]}, output_specs=specs, required_rewriters=required)
    session = InferenceSession(path)
    for count in (1, 3):
        (logits,) = session.run(None, {"images": images[:count].numpy()})
        assert part_of_range(expected[:count], torch.from_numpy(np.asarray(logits))) < NEAR


def test_a_checkpoint_of_mmseg_loads(tmp_path: Path) -> None:
    segmentor = adapted(MODELS["hrnet-fcn"])
    state = {f"module.{name}": tensor for name, tensor in segmentor.model.state_dict().items()}
    state["module.auxiliary_head.conv_seg.weight"] = torch.zeros(3, 4, 1, 1)
    fresh: Any = build_section({"type": "MmsegSegmentor", "config": MODELS["hrnet-fcn"]})
    load_state(fresh, state_for(fresh, state, "mmseg"), "mmseg")
    with torch.no_grad():
        assert torch.equal(fresh.eval()(sample(1)), segmentor(sample(1)))


def test_the_manifest_names_the_library_and_the_stand_in() -> None:
    libraries = family_of(adapted(model(BACKBONE, HEAD))).libraries()
    assert {"mmsegmentation", "onedl-mmsegmentation"} & set(libraries)
    assert {"mmcv", "mmcv-lite", "onedl-mmcv"} & set(libraries)
