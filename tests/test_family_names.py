"""A family of models is named in its own folders alone: what all others ask, they ask through zoo.families."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from zoo.families import layouts, registry

ROOT = Path(__file__).parents[1]
PACKAGES = ("zoo", "rewriters", "backends", "pipeline", "zooport", "tools")
IN_ITS_FOLDERS = {"yolov5": ("zoo/models/detection/yolov5", "rewriters/yolov5")}
"""Of a family whose name means nothing else: no text outside of its folders has it."""
ALLOWED = {
    "rewriters/torchvision_detection/": "the rewriters of torchvision's detectors, which a user's own models use too",
    "zoo/codebases/": "what an OpenMMLab config becomes is a config of one of these families",
}
LOADERS = {"rewriters/graph_rewriters/set_metadata.py": "the loader that breaks on these keys, whatever the layout"}


def folders_by_class() -> Mapping[str, set[str]]:
    """The name of each registered class -> where it may be named: its own folder, its family's, and its rewriters'."""
    registry.families()  # loads them
    folders: dict[str, set[str]] = {}
    for kind, family in registry._by_class.items():
        if not isinstance(kind, str):  # the name of a library
            modules = (kind.__module__, type(family).__module__)
            packages = [module.rpartition(".")[0] for module in modules] + [family.rewriters or ""]
            folders.setdefault(kind.__name__, set()).update(f"{name.replace('.', '/')}/" for name in packages if name)
    return folders


def sources() -> Iterator[tuple[str, str]]:
    """The path from the root, and the text."""
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            yield file.relative_to(ROOT).as_posix(), file.read_text(encoding="utf-8")


def names(source: str) -> set[str]:
    """What code imports, reads or looks up, and texts that are one name; comments and prose are not looked at."""
    seen: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.alias(name=name):
                seen.add(name.rpartition(".")[2])
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
                seen.add(name)
    return seen


@pytest.mark.parametrize("name", IN_ITS_FOLDERS)
def test_no_text_outside_of_its_folders_names_it(name: str) -> None:
    folders = tuple(f"{folder}/" for folder in IN_ITS_FOLDERS[name])
    naming = [path for path, text in sources() if name in text.lower() and not path.startswith(folders)]
    # a help text may have an example of a shipped config
    assert [path for path in naming if not path.startswith("zooport/commands/")] == []
    assert all(name in (ROOT / folder / "__init__.py").read_text(encoding="utf-8") for folder in folders)


def test_no_text_outside_of_its_folder_names_a_familys_layout() -> None:
    folders = {name: folder_of(type(layout)) for name, layout in layouts().items()}
    assert folders == {"ultralytics": "zoo/models/detection/yolov5/"}
    naming = [
        path
        for path, text in sources()
        for name in folders
        if name in text.lower() and not path.startswith(folders[name])
    ]
    # a help text may say what a layout is for
    assert [path for path in naming if not path.startswith("zooport/commands/")] == [*LOADERS]


def folder_of(kind: type) -> str:
    """The folder of the module of a class, from the root."""
    return f"{kind.__module__.rpartition('.')[0].replace('.', '/')}/"


def test_no_code_outside_of_its_folders_names_a_familys_class() -> None:
    folders = folders_by_class()
    naming = {
        path: sorted(name for name in names(text) & set(folders) if not path.startswith(tuple(folders[name])))
        for path, text in sources()
    }
    naming = {path: classes for path, classes in naming.items() if classes}
    assert {path: classes for path, classes in naming.items() if not path.startswith(tuple(ALLOWED))} == {}
    assert [folder for folder in ALLOWED if not any(path.startswith(folder) for path in naming)] == [], "not needed"


def test_the_walk_sees_what_it_looks_for() -> None:
    assert {"YOLOv5", "EncoderDecoder", "PointPillars", "GeneralizedRCNN"} <= set(folders_by_class())
    assert names("from a.b import SSD as s\nif isinstance(m, t.FCOS): pass\nx = 'SRCNN'") >= {"SSD", "FCOS", "SRCNN"}
    assert names('"An SSD"  # SSD').isdisjoint({"SSD"})
