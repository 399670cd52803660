"""A folder that describes no model is refused in one line, before transformers is asked where that can be."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from zoo.errors import BackendUnavailableError, InputError
from zoo.models.transformers import build_architecture, read_architecture
from zoo.models.transformers.query_detectors.detection_rules import detection_rule


def write(folder: Path, content: Any) -> Path:
    (folder / "config.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def test_a_folder_without_a_config_says_what_writes_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"config.json: no such file; give the folder that model.save_pretrained"):
        build_architecture(tmp_path, ("OBJECT_DETECTION",), "object detection")


@pytest.mark.parametrize("content", [[1, 2], "detr"])
def test_what_is_no_object_is_refused(tmp_path: Path, content: Any) -> None:
    with pytest.raises(InputError, match=r"config.json: got a JSON \w+, expected an object; give the folder"):
        read_architecture(write(tmp_path, content))


def test_a_missing_library_names_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)  # as if it were not installed
    with pytest.raises(BackendUnavailableError, match=r'pip install "zooport\[transformers\]"'):
        read_architecture(write(tmp_path, {"model_type": "detr"}))


def test_an_architecture_without_a_rule_names_the_nearest() -> None:
    with pytest.raises(InputError, match="outputs of pp_ocrv5 are detections; nearest: .*; for another architecture"):
        detection_rule("pp_ocrv5")
