"""A detector of point clouds goes through deploy, load, predict, evaluate and the self-test; clouds are synthetic."""

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch

from backends import load
from pipeline import deploy, evaluate
from tests.tools.conftest import in_this_process
from zoo.config import load_config, read_config
from zoo.datasets.streets.scene import make_scene
from zoo.errors import GateError, InputError
from zoo.kitti import read_label
from zoo.tasks.detection3d import Detection3DResult

CONFIG = Path(__file__).parent / "sectors_streets.py"


@pytest.fixture(scope="module")
def clouds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clouds")
    for number in range(2):
        (folder / f"{number:06d}.bin").write_bytes(make_scene("train", number).points.tobytes())
    np.save(folder / "cloud.npy", make_scene("train", 2).points)
    return folder


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    load_config(read_config(CONFIG))
    from sector_detector import SectorDetector  # what the config imports

    path = tmp_path_factory.mktemp("weights") / "sectors.pth"
    torch.save(SectorDetector().state_dict(), path)
    return path


@pytest.fixture(scope="module")
def deployed(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    work_dir = tmp_path_factory.mktemp("work")
    deploy(CONFIG, checkpoint=checkpoint, work_dir=work_dir).close()
    return work_dir / "detection3d" / "sectors_streets" / "onnxruntime-fp32"


def test_its_contract_is_proved_in_metres_and_radians(deployed: Path) -> None:
    parity = json.loads((deployed / "parity.json").read_text(encoding="utf-8"))
    assert parity["verdict"] == "passed"
    figures = {figure["name"]: figure for figure in parity["summary"]["graph"]["figures"]}
    assert (figures["boxes"]["unit"], figures["boxes"]["gate"]) == ("m", 1e-3)
    assert (figures["yaw"]["unit"], figures["yaw"]["gate"]) == ("rad", 1e-3)
    assert figures["scores"]["gate"] == 1e-4
    assert figures["boxes"]["count"] > 20
    manifest = json.loads((deployed / "deployment.json").read_text(encoding="utf-8"))
    assert manifest["preprocess"] == {"intensity": [0.0, 1.0], "count": [64, 20000]}
    assert [spec["name"] for spec in manifest["inputs"]] == ["points", "num_points"]
    assert {path.name.split(".")[0] for path in (deployed / "previews").glob("*.png")}


def test_a_cloud_gives_boxes_in_its_own_frame(deployed: Path, clouds: Path) -> None:
    with load(deployed, check=True) as model:
        cloud = np.load(clouds / "cloud.npy")
        result = model(cloud)
        assert isinstance(result, Detection3DResult)
        assert result.boxes.shape == (6, 7)
        shuffled = cloud[np.random.default_rng(0).permutation(len(cloud))]
        np.testing.assert_allclose(model(shuffled).boxes, result.boxes, atol=1e-3)
        gaps = np.concatenate((np.full((5, 4), np.nan, np.float32), cloud))
        np.testing.assert_allclose(model(gaps).boxes, result.boxes, atol=1e-4)
        empty, full = model([cloud[:0], cloud])
        assert empty.scores.tolist() == [0.0] * 6
        np.testing.assert_array_equal(full.boxes, result.boxes)
        drawing = result.draw(cloud)
        assert drawing.dtype == np.uint8
        assert max(drawing.shape) == 960


def test_clouds_that_the_model_was_not_trained_for_are_refused(deployed: Path, clouds: Path) -> None:
    with load(deployed) as model:
        cloud = np.load(clouds / "cloud.npy")
        with pytest.raises(
            InputError, match="^point cloud 1: intensities from .* to 255, the model was trained with 0"
        ):
            model([cloud, cloud * np.array((1, 1, 1, 255 / cloud[:, 3].max()), np.float32)])
        with pytest.raises(InputError, match=r"^point cloud: 30000 points, this model takes up to 20000; deploy it"):
            model(np.zeros((30000, 4), np.float32))
        with pytest.raises(InputError, match=r"^point cloud: got float64 \[3, 4\], expected float32 \[n, 4\]"):
            model(np.zeros((3, 4)))


def test_predict_reads_a_folder_of_clouds(
    deployed: Path, clouds: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (clouds / "scan.ply").write_bytes(b"")
    predict = in_this_process("predict", capsys)
    places = [str(place) for place in (deployed, clouds, "--out", tmp_path / "out")]
    assert predict([*places, "--draw", "--format", "files", "csv"]).code == 0
    files = {path.name for path in (tmp_path / "out").iterdir()}
    for name in ("000000", "000001", "cloud"):
        assert {f"{name}.json", f"{name}.txt", f"{name}_drawn.png"} <= files
    objects = json.loads((tmp_path / "out/000000.json").read_text(encoding="utf-8"))
    assert len(objects) == 6
    assert len(objects[0]["box"]) == 7
    lines = [entry for _, entry in read_label((tmp_path / "out/000000.txt").read_text(encoding="utf-8"))]
    assert [entry.score for entry in lines] == pytest.approx([each["score"] for each in objects], abs=1e-6)  # type: ignore[union-attr]
    header = (tmp_path / "out/predictions.csv").read_text(encoding="utf-8").splitlines()[0]
    assert "height,width,fault,class,label,score,x,y,z,l,w,h,yaw" in header


def test_evaluate_draws_results_and_ground_truth(deployed: Path, checkpoint: Path, tmp_path: Path) -> None:
    table = evaluate(
        CONFIG, deployments=[deployed], checkpoint=checkpoint, work_dir=tmp_path, show_dir=tmp_path / "drawn"
    )
    figures = [row.figures for row in table.rows]
    assert figures[0]["nuscenes/mAP"] == figures[1]["nuscenes/mAP"]
    drawn = sorted((tmp_path / "drawn").rglob("*.jpg"))
    assert len(drawn) == 2 * 4
    image: Any = cv2.imread(str(drawn[0]))
    assert (image.min(axis=2) > 230).sum() > 50  # white: the ground truth


def test_boxes_that_are_two_millimetres_off_are_a_failure(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_config(read_config(CONFIG))
    from sector_detector import SectorDetector

    detections = SectorDetector.detections

    def moved(self: Any, cloud: Any) -> Any:
        unmoved = detections(self, cloud)
        shift = 2e-3 if torch.onnx.is_in_onnx_export() else 0.0
        return unmoved | {"boxes": unmoved["boxes"] + torch.tensor((shift, 0, 0, 0, 0, 0, 0))}

    monkeypatch.setattr(SectorDetector, "detections", moved)
    with pytest.raises(GateError, match=r"0\.002 m and 0 rad and 0 of score away"):
        deploy(CONFIG, checkpoint=checkpoint, work_dir=tmp_path)
