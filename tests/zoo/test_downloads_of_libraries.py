"""Libraries that take pretrained weights from a hub are stopped, with a network and without."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from zoo.downloads import refused_downloads
from zoo.errors import InputError

pytestmark = pytest.mark.libraries


def from_timm() -> Any:
    return import_module("timm").create_model("resnet18", pretrained=True)


def from_smp() -> Any:
    return import_module("segmentation_models_pytorch").Unet("resnet18")  # encoder_weights="imagenet" is its default


def from_transformers() -> Any:
    return import_module("transformers").AutoModel.from_pretrained("facebook/detr-resnet-50")


@pytest.mark.parametrize(
    ("library", "build"),
    [("timm", from_timm), ("segmentation_models_pytorch", from_smp), ("transformers", from_transformers)],
)
@pytest.mark.parametrize("offline", [False, True])
def test_it_is_stopped(
    library: str, build: Any, offline: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(library, reason="an extra that this environment does not have")
    constants = pytest.importorskip("huggingface_hub.constants", reason="the client of the hub")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", offline)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    message = "model x tries to download something while it is built"
    with pytest.raises(InputError, match=message) as raised, refused_downloads("model x"):
        build()
    assert "\n" not in str(raised.value)
