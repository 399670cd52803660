"""`zooport init FOLDER && zooport deploy` for each architecture of transformers that zooport takes."""

from pathlib import Path

import pytest

from tests import small_query_detectors, small_transformers_segmentors
from tests.init_and_deploy import copy_images, deploy, init
from zoo.datasets.shapes import CATEGORIES, write_shapes
from zooport.verbs import run_verb

pytestmark = [pytest.mark.libraries, pytest.mark.slow]
transformers = pytest.importorskip("transformers", reason="the extra transformers is not installed")

SIDE = 128
SIDE_OF = {"depth_anything": 126, "dpt_dinov2": 126}  # patches of 14
ALIKE = ("oneformer",)
"""Whose random weights give one class everywhere: nothing is proved, and the message says what to do."""
WITHOUT = "RTDetrImageProcessor"
"""Of architectures for which the library has no image processor of its own."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With one.png and two.png."""
    copy_images(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sides(name: str) -> dict[str, int]:
    """Of the tensors of an architecture."""
    return dict.fromkeys(("height", "width"), SIDE_OF.get(name, SIDE))


def save_processor(folder: Path) -> None:
    """The image processor that the library uses with the architecture, for a small size."""
    from transformers.models.auto.image_processing_auto import IMAGE_PROCESSOR_MAPPING

    entry = IMAGE_PROCESSOR_MAPPING.get(type(transformers.AutoConfig.from_pretrained(folder)), {})
    kinds = [kind for kind in entry.values() if kind is not None]
    kind = kinds[0] if kinds else getattr(transformers, WITHOUT)
    kind(size=sides(folder.name), crop_size=sides(folder.name)).save_pretrained(folder)


def prove(name: str, capsys: pytest.CaptureFixture[str], *flags: str) -> None:
    """Init of the folder, and deploy."""
    init(name, (SIDE_OF.get(name, SIDE),) * 2, capsys, *flags)
    deploy(f"{name}.py", capsys, may_be_blank=name in ALIKE)


@pytest.mark.parametrize("name", small_query_detectors.SETTINGS)
def test_a_detector(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small_query_detectors.save(name, folder / name)
    save_processor(folder / name)
    prove(name, capsys)


@pytest.mark.parametrize("name", small_transformers_segmentors.SETTINGS)
def test_a_segmentor(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small_transformers_segmentors.saved(name, folder / name)
    save_processor(folder / name)
    prove(name, capsys)


@pytest.mark.parametrize("name", ["maskformer", "mask2former", "oneformer"])
def test_instances(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small_transformers_segmentors.saved(name, folder / name)
    save_processor(folder / name)
    prove(name, capsys, "--task", "InstanceMasks")
    if name == "maskformer":
        judge(folder / f"{name}.py")
        assert run_verb(["evaluate", f"{name}.py", "--backend", "pytorch", "onnxruntime"]) == 0
        assert "mask_AP" in capsys.readouterr().out


def judge(config: Path) -> None:
    """Give a config a COCO file of three images, whose ids are those of the config's classes."""
    file = write_shapes(config.parent / "shapes", count=3)
    text = file.read_text()
    for label, category_id in enumerate(CATEGORIES):
        text = text.replace(f'"category_id": {category_id},', f'"category_id": {label},')
        text = text.replace(f'"id": {category_id},\n   "name"', f'"id": {label},\n   "name"')
    file.write_text(text)
    with config.open("a") as lines:
        lines.write(
            'dataset = dict(type="CocoInstances", images="shapes/images", annotations="shapes/annotations.json")\n'
        )
        lines.write('evaluator = dict(type="CocoMaskAP")\n')
