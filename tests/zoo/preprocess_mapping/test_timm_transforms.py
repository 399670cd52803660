"""Mapped data configs of timm beside its own transforms, on photographs."""

from typing import Any

import pytest
from PIL import Image

from tests.zoo.preprocess_mapping.photographs import check_same, columns_first, photographs
from zoo.preprocess_mapping import from_timm

pytestmark = pytest.mark.libraries
timm_data = pytest.importorskip("timm.data", reason="compares with timm's own transforms")

CASES: dict[str, dict[str, Any]] = {
    "default": {},
    "bilinear": {"interpolation": "bilinear", "crop_pct": 0.9},
    "whole": {"input_size": (3, 288, 288), "crop_pct": 1.0},
    "odd": {"input_size": (3, 225, 225), "crop_pct": 0.95, "mean": (0.5,) * 3, "std": (0.5,) * 3},
    "squashed": {"input_size": (3, 256, 320), "crop_pct": 1.0, "crop_mode": "squash"},
}


@pytest.mark.parametrize("case", CASES)
def test_a_grey_level_at_most(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image.Image, "resize", columns_first)
    resolved = timm_data.resolve_data_config(CASES[case] or {"in_chans": 3})
    transform = timm_data.create_transform(**resolved, is_training=False)
    preprocess = from_timm(resolved)
    for photograph in photographs().values():
        check_same(preprocess, photograph, transform(Image.fromarray(photograph)))
