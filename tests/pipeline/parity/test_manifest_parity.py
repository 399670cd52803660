"""The manifest beside the config: every field of the task and the preprocessing."""

from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.parity.manifest_parity import manifest_failures
from zoo.preprocess import Preprocess
from zoo.tasks import build_task

CLASSES = [{"name": name, "category_id": number} for number, name in enumerate(("cat", "dog", "cow"))]
TASK = build_task({"type": "Detection", "classes": CLASSES})
RULE = Preprocess.from_dict({"size": (64, 96)})


def failures(**fields: Any) -> list[str]:
    right = {"task": "detection", "task_options": {}, "classes": TASK.classes, "preprocess": RULE}
    return list(manifest_failures(SimpleNamespace(**{**right, **fields}), TASK, RULE))  # type: ignore[arg-type]


def test_what_the_config_says_is_right() -> None:
    assert failures() == []


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"task": "keypoint-detection"}, 'task "keypoint-detection", the config has "detection"'),
        ({"task_options": {"num_keypoints": 4}}, "task_options {'num_keypoints': 4}, the config has {}"),
        ({"classes": TASK.classes[:2]}, "2 classes, the config has 3"),
        (
            {"classes": (TASK.classes[0], TASK.classes[2], TASK.classes[1])},
            'class 1 is "cow" with category_id 2, the config has "dog" with category_id 1',
        ),
        (
            {"preprocess": Preprocess.from_dict({"size": (64, 96), "pad_value": 0})},
            "preprocess.pad_value is 0, the config has 114",
        ),
    ],
)
def test_another_field_is_named(fields: dict[str, Any], words: str) -> None:
    assert failures(**fields)[0] == words
