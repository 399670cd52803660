"""A model type names the library that it needs, and who walks all configs leaves out what cannot be built."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.zoo_configs import CONFIGS, ROOT, SHIPPED
from zoo.build import build_model, library_missing
from zoo.errors import LibraryMissingError
from zoo.models.transformers import TransformersModel
from zoo.models.transformers.query_detectors import TransformersDetector
from zoo.optional_library import OptionalLibrary, missing_library, needed_library, needs_library, optional_library
from zoo.registry import MODELS

UNET = ROOT / "configs/segmentation/unet_r18_digits.py"


@pytest.fixture
def without_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of them is installed."""
    monkeypatch.setattr("zoo.optional_library.find_spec", lambda name: None)


def test_a_model_type_names_its_library() -> None:
    @needs_library("json", "none")
    def build() -> None:
        raise AssertionError

    assert needed_library(build) == OptionalLibrary("json", "none")
    assert missing_library(build, "it") is None
    assert needed_library(TransformersDetector) == needed_library(TransformersModel)
    assert needed_library(int) is None


def test_what_is_missing_is_said(without_libraries: None) -> None:
    expected = 'segmentation_models_pytorch is not installed, and a SmpSegmentor needs it: pip install "zooport[smp]"'
    assert str(library_missing(UNET)) == expected
    with pytest.raises(LibraryMissingError) as raised:
        build_model(UNET)
    assert str(raised.value) == expected
    assert raised.value.exit_code == 4
    assert library_missing("fcn_r18_digits") is None


def test_an_import_says_the_same() -> None:
    with pytest.raises(LibraryMissingError, match=r"^not_there is not installed, and it needs it: pip .*\[there\]"):
        optional_library("not_there.part", "there", "it")


def test_the_shipped_models_with_a_library() -> None:
    """What make test leaves out of the tests over all configs, and nothing else."""
    needing = {Path(path).stem: needed_library(MODELS.get(CONFIGS[path].model["type"])) for path in SHIPPED}
    assert {name: library.extra for name, library in needing.items() if library is not None} == {
        "rt-detr-v2_r18_digits": "transformers",
        "unet_r18_digits": "smp",
    }


@pytest.mark.parametrize("path", [path for path, config in CONFIGS.items() if "train" in config.content])
def test_what_is_installed_is_not_missing(path: str) -> None:
    library: Any = needed_library(MODELS.get(CONFIGS[path].model["type"]))
    assert (library_missing(path) is None) == (library is None or find_spec(library.name) is not None)
