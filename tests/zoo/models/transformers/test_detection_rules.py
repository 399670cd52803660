"""Detections of every architecture are those of transformers' own post-processing."""

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.small_query_detectors import CLASSES, SETTINGS, save
from zoo.errors import InputError
from zoo.models.transformers.query_detectors import TransformersDetector
from zoo.models.transformers.query_detectors.detection_rules import RULES
from zoo.models.transformers.query_detectors.transformers_detector import pixels

pytestmark = pytest.mark.libraries
transformers = pytest.importorskip("transformers", reason="the models of these tests are transformers'")

PROCESSORS = {  # by model_type; those that the library names for it, and for its published checkpoints
    "detr": "DetrImageProcessor",
    "table-transformer": "DetrImageProcessor",
    "yolos": "YolosImageProcessor",
    "conditional_detr": "ConditionalDetrImageProcessor",
    "dab-detr": "ConditionalDetrImageProcessor",
    "deformable_detr": "DeformableDetrImageProcessor",
    "lw_detr": "DeformableDetrImageProcessor",
    "rf_detr": "RfDetrImageProcessor",
    "d_fine": "RTDetrImageProcessor",
    "deimv2": "RTDetrImageProcessor",
    "rt_detr": "RTDetrImageProcessor",
    "rt_detr_v2": "RTDetrImageProcessor",
}


def test_every_rule_is_that_of_a_processor() -> None:
    from transformers.models.auto.image_processing_auto import IMAGE_PROCESSOR_MAPPING_NAMES

    assert PROCESSORS.keys() == RULES.keys()
    for model_type, name in PROCESSORS.items():
        if model_type in IMAGE_PROCESSOR_MAPPING_NAMES:
            assert name in dict(IMAGE_PROCESSOR_MAPPING_NAMES[model_type]).values()


@pytest.mark.parametrize("name", SETTINGS)
def test_detections_are_those_of_its_own_post_processing(name: str, tmp_path: Path) -> None:
    """As sets, all scores included. Boxes in pixels of images that are higher than wide."""
    save(name, tmp_path)
    detector = TransformersDetector(tmp_path).eval()
    processor = getattr(transformers, PROCESSORS[detector.model.config.model_type])()
    images = torch.rand(2, 3, 96, 64, generator=torch.Generator().manual_seed(3))
    with torch.no_grad():
        detections = detector(images)
        outputs = detector.model(pixel_values=images)
    expected = processor.post_process_object_detection(outputs, threshold=0.0, target_sizes=[(96, 64)] * 2)
    for ours, theirs in zip(detections, expected, strict=True):
        assert len(ours["scores"]) == detector.detections_per_img
        assert ours["labels"].max() < CLASSES
        assert (ours["scores"].diff() <= 0).all(), "best first"
        for key in ("scores", "labels", "boxes"):
            torch.testing.assert_close(sorted_by_score(ours)[key], sorted_by_score(theirs)[key], atol=1e-4, rtol=1e-5)


def sorted_by_score(detections: dict[str, Any]) -> dict[str, Any]:
    order = detections["scores"].argsort(descending=True, stable=True)
    return {key: value[order] for key, value in detections.items()}


def test_an_architecture_without_a_rule_is_refused(tmp_path: Path) -> None:
    transformers.PPDocLayoutV3Config().save_pretrained(tmp_path)
    with pytest.raises(InputError, match="no rule is known by which the outputs of pp_doclayout_v3 are detections"):
        TransformersDetector(tmp_path)


def test_boxes_are_scaled_where_the_images_are() -> None:
    """The device meta stands in for a GPU: tensors of two devices cannot be multiplied."""
    factors = pixels(torch.zeros(1, 3, 4, 6, device="meta"))
    assert factors.device.type == "meta"
    assert factors.shape == (1, 1, 4)
