"""What a SmpSegmentor refuses before its library is imported, and without it."""

import sys
from typing import Any

import pytest

from zoo.errors import BackendUnavailableError, InputError
from zoo.models.smp import build_smp_segmentor
from zoo.models.smp.segmentor import NOT_TAKEN


@pytest.fixture(autouse=True)
def no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "segmentation_models_pytorch", None)


def build(**options: Any) -> object:
    return build_smp_segmentor("Unet", encoder="resnet18", num_classes=3, **options)


@pytest.mark.parametrize("name", NOT_TAKEN)
def test_options_that_the_config_says_elsewhere(name: str) -> None:
    with pytest.raises(InputError, match=f"SmpSegmentor: {name}: ") as caught:
        build(**{name: "imagenet"})
    assert "\n" not in str(caught.value)


def test_without_the_library() -> None:
    with pytest.raises(BackendUnavailableError, match=r'a SmpSegmentor needs it: pip install "zooport\[smp\]"'):
        build()
