"""docs/own_model.md: the code and the commands of each section, from a model and its weights to a proved deployment."""

import json
import re
import runpy
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.zoo_configs import ROOT
from zooport.verbs import run_verb

DOCS = ROOT / "docs"
run_page = runpy.run_path(str(DOCS / "run_page.py"))["run_page"]
PAGE = (DOCS / "own_model.md").read_text(encoding="utf-8")
LIBRARIES = {
    "A Hugging Face folder": "transformers",
    "segmentation_models_pytorch": "segmentation_models_pytorch",
    "timm": "timm",
}
EXAMPLES = ("A class in a file", "torchvision with your classes", *LIBRARIES)
BY_HAND = "## A part of one of zooport's models"
FILES = [
    *("embed.py", "embed_judged.py", "embedder.pth", "embedder.py"),
    *("park.png", "street.png", "thin.pth", "thin.py", "thin_head.py", "work_dirs"),
]
"""What the code of the last sections writes."""
STEP = re.compile(r"^```python\n(?P<code>.*?)^```$|^    zooport (?P<command>.*?)$", re.MULTILINE | re.DOTALL)


def section(title: str) -> str:
    """The text below a heading."""
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def run_section(title: str) -> None:
    """Its code and its commands, in the order in which a reader meets them."""
    names: dict[str, Any] = {"__name__": "own_model"}
    for step in STEP.finditer(section(title)):
        if step["code"] is not None:
            exec(compile(step["code"], title, "exec"), names)
        else:
            assert run_verb(shlex.split(step["command"])) == 0, step["command"]


@pytest.fixture
def images(folder: Path) -> Iterator[Path]:
    """Where street.png and park.png are."""
    found = sorted((ROOT / "zoo/data/digits/val/images").iterdir())
    for image, name in zip(found, ("street.png", "park.png"), strict=False):
        shutil.copy(image, folder / name)
    return folder


def test_every_example_has_a_command_and_its_deployment() -> None:
    for title in EXAMPLES:
        commands = [step["command"] for step in STEP.finditer(section(title)) if step["command"]]
        assert [command.split()[0] for command in commands] == ["init", "deploy"], title


def test_the_prose_stays_short() -> None:
    prose = re.sub(r"^```.*?^```$", "", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert len([line for line in prose.splitlines() if line.strip()]) <= 250


@pytest.mark.slow
@pytest.mark.parametrize(
    "title", [pytest.param(title, marks=[pytest.mark.libraries] * (title in LIBRARIES)) for title in EXAMPLES]
)
def test_an_example_is_proved(title: str, images: Path) -> None:
    if title in LIBRARIES:
        pytest.importorskip(LIBRARIES[title], reason="an extra that is not installed")
    run_section(title)
    records = [json.loads(path.read_text()) for path in images.rglob("deployment.json")]
    assert [record["parity"]["verdict"] for record in records] == ["passed"]
    configs = [path for path in images.glob("*.py") if "\ncheckpoint = " in path.read_text()]
    assert len(configs) == 1


@pytest.mark.slow
def test_the_code_of_the_last_sections_runs(folder: Path) -> None:
    page = folder / "page.md"
    page.write_text(PAGE[PAGE.index(BY_HAND) :], encoding="utf-8")
    assert len(run_page(page)) > 6
    page.unlink()
    assert sorted(path.name for path in folder.iterdir() if path.name != "__pycache__") == FILES
