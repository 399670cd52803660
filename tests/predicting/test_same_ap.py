"""The AP that pycocotools finds in predictions is that of `zooport evaluate`, for boxes and masks."""

import json
from pathlib import Path

import pytest

from tests.predicting.conftest import Predict
from tests.predicting.test_tables import stats
from tests.tools.conftest import in_this_process

ROOT = Path(__file__).parents[2]
VAL = ROOT / "zoo/data/digits/val"
SHAPES = {"faster-rcnn_r18-fpn_digits": ("bbox", "box"), "mask-rcnn_r18-fpn_digits": ("segm", "mask")}


@pytest.mark.slow
@pytest.mark.parametrize("config", SHAPES)
def test_on_the_same_deployment_and_data_set(
    config: str, predict: Predict, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    deploy, evaluate = in_this_process("deploy", capsys), in_this_process("evaluate", capsys)
    assert deploy([str(ROOT / f"configs/detection/{config}.py"), "--work-dir", str(tmp_path / "work")]).code == 0
    place = next((tmp_path / "work").rglob("deployment.json")).parent
    data = tmp_path / "data.json"
    arguments = [str(ROOT / f"configs/detection/{config}.py"), "--deployment", str(place), "--json", str(data)]
    assert evaluate([*arguments, "--work-dir", str(tmp_path / "work")]).code == 0
    row = next(row for row in json.loads(data.read_text(encoding="utf-8"))["rows"] if row["deployment"])
    annotations = VAL / "annotations.json"
    more = ["--format", "coco", "--annotations", annotations]
    assert predict(place, VAL / "images", "--out", tmp_path / "out", *more).code == 0
    shape, name = SHAPES[config]
    found = stats(annotations, tmp_path / "out/predictions.coco.json", shape)
    expected = [row["figures"][f"coco/{name}_{figure}"] for figure in ("AP", "AP50", "AP75", "AP_small", "AP_medium")]
    assert found[:5] == pytest.approx(expected, abs=1e-4)  # what --json rounds to
