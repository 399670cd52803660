"""Libraries that take pretrained weights from a hub are stopped, with a network and without."""

from pathlib import Path

import pytest

from zoo.build import build_section
from zoo.errors import InputError

pytestmark = pytest.mark.libraries


@pytest.mark.parametrize(
    ("library", "section"),
    [
        ("timm", {"type": "timm.create_model", "model_name": "resnet18", "pretrained": True}),
        ("segmentation_models_pytorch", {"type": "segmentation_models_pytorch.Unet", "encoder_name": "resnet18"}),
        (
            "transformers",
            {
                "type": "transformers.AutoModel.from_pretrained",
                "pretrained_model_name_or_path": "facebook/detr-resnet-50",
            },
        ),
    ],
)
@pytest.mark.parametrize("offline", [False, True])
def test_it_is_stopped(
    library: str, section: dict[str, object], offline: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(library, reason="an extra that this environment does not have")
    constants = pytest.importorskip("huggingface_hub.constants", reason="the client of the hub")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", offline)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(InputError, match=f"model {section['type']} tries to download something while it is built") as e:
        build_section(section)
    assert "\n" not in str(e.value)
