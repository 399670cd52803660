"""A family of models is named in its own folders alone: what all others ask, they ask through zoo.families."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("zoo", "rewriters", "backends", "pipeline")
MODELS = ("zoo/models", "rewriters/torchvision_detection", "rewriters/segmentation", "rewriters/restoration")
CLASSES = {
    *("GeneralizedRCNN", "FasterRCNN", "MaskRCNN", "KeypointRCNN", "RoIHeads", "RetinaNet", "FCOS", "SSD"),
    *("EncoderDecoder", "LRASPP", "FCN", "DeepLabV3", "_SimpleSegmentationModel", "SRCNN", "AnyScaleSRCNN"),
}
"""Of the families whose names are words of the field as well: as code they are in these folders alone."""
IN_ITS_FOLDERS = {"yolov5": ("zoo/models/detection/yolov5", "rewriters/yolov5")}
"""Of a family whose name means nothing else: no text outside of its folders has it."""


def files_outside(*folders: str) -> Iterator[Path]:
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            if not any(file.is_relative_to(ROOT / folder) for folder in folders):
                yield file


def names(source: str) -> set[str]:
    """What code imports, reads or looks up; comments and texts are not looked at."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.alias):
            found.add(node.name.rpartition(".")[2])
        elif isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
    return found


@pytest.mark.parametrize("name", IN_ITS_FOLDERS)
def test_no_text_outside_of_its_folders_names_it(name: str) -> None:
    folders = IN_ITS_FOLDERS[name]
    assert [str(file) for file in files_outside(*folders) if name in file.read_text(encoding="utf-8").lower()] == []
    assert all(name in (ROOT / folder / "__init__.py").read_text(encoding="utf-8") for folder in folders)


def test_no_code_outside_of_the_models_names_their_classes() -> None:
    named = {str(file): names(file.read_text(encoding="utf-8")) & CLASSES for file in files_outside(*MODELS)}
    assert {file: found for file, found in named.items() if found} == {}


def test_the_walk_sees_what_it_looks_for() -> None:
    inside = [file for folder in MODELS for file in (ROOT / folder).rglob("*.py")]
    seen = set().union(*(names(file.read_text(encoding="utf-8")) for file in inside))
    assert seen >= CLASSES - {"FCN", "DeepLabV3"}  # which are built by their names
    assert names("from a.b import SSD as s\nif isinstance(m, t.FCOS): pass") >= {"SSD", "FCOS"}
    assert names('"SSD"  # SSD') == set()
