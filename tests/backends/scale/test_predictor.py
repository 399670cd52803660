"""What an actor does, without Ray: a block in, a part out, equal to `load()` to the bit; and errors as data."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pyarrow.parquet as pq
import pytest

from backends import load
from backends.deployment import Deployment
from backends.scale.inputs import find_inputs
from backends.scale.predictor import BlockPredictor, PredictionJob
from backends.scale.refusal import raise_refusal
from backends.scale.run_folder import part_name
from backends.scale.shipped import ShippedDeployment, deployment_contents
from zoo.errors import ExportError, InputError, ZooportError
from zoo.input_kinds import input_kind

KIND = input_kind("image")


def shipped(deployment: Path) -> ShippedDeployment:
    _, contents = deployment_contents(deployment)
    return ShippedDeployment(str(deployment), contents)


def run(job: PredictionJob, *sources: Path) -> dict[str, list[Any]]:
    inputs = find_inputs([str(source) for source in sources], KIND, recursive=False)
    return BlockPredictor(job, dict)({"block": np.array([7]), "inputs": [json.dumps(inputs)]})


def rows(job: PredictionJob) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(Path(job.out, part_name(7))).to_pylist()
    return found


@pytest.fixture
def out(tmp_path: Path) -> str:
    folder = tmp_path / "out"
    folder.mkdir()
    return str(folder)


def test_detections_equal_load_to_the_bit(detector: Path, photos: Path, out: str) -> None:
    job = PredictionJob(shipped(detector), out)
    (faults,) = run(job, photos)["faults"]
    parts = rows(job)
    assert [Path(row["source"]).name for row in parts] == [f"{number}.png" for number in range(6)]
    assert json.loads(faults) == [parts[3]["fault"]]
    assert parts[3]["fault"].startswith(f"image {photos / '3.png'}: not an image")
    assert (parts[3]["height"], parts[3]["results"]) == (None, None)
    with load(detector) as model:
        for number in (0, 1, 2, 4, 5):
            row, result = parts[number], model(cv2.imread(str(photos / f"{number}.png")))
            assert (row["height"], row["width"], row["fault"]) == (64, 96, None)
            boxes = [[thing[side] for side in ("x1", "y1", "x2", "y2")] for thing in row["results"]]
            assert np.array_equal(np.array(boxes, np.float32).reshape(-1, 4), result.boxes)
            assert np.array_equal(np.array([thing["score"] for thing in row["results"]], np.float32), result.scores)
            assert [thing["label"] for thing in row["results"]] == result.labels.tolist()
            assert [thing["class"] for thing in row["results"]] == [each.name for each in result]
    assert sum(len(row["results"] or ()) for row in parts) > 0


def test_label_maps_equal_load_to_the_bit(segmentor: Path, photos: Path, out: str) -> None:
    job = PredictionJob(shipped(segmentor), out)
    run(job, photos / "1.png", photos / "5.png")
    with load(segmentor) as model:
        for row in rows(job):
            stored = cv2.imdecode(np.frombuffer(row["png"], np.uint8), cv2.IMREAD_UNCHANGED)
            result = model(cv2.imread(row["source"]))
            assert np.array_equal(stored, result.label_map)
            assert [thing["label"] for thing in row["results"]] == [thing["label"] for thing in result.rows()]


def test_score_and_classes_are_kept(detector: Path, photos: Path, out: str) -> None:
    job = PredictionJob(shipped(detector), out, score=0.3, classes=("c1", "c2"))
    run(job, photos / "5.png")
    (row,) = rows(job)
    assert {thing["class"] for thing in row["results"]} == {"c1", "c2"}


def test_an_image_that_is_gone_is_a_row(detector: Path, photos: Path, out: str) -> None:
    inputs = find_inputs([str(photos / "1.png"), photos.as_uri()], KIND, recursive=False)
    for name in ("1.png", "2.png"):
        (photos / name).unlink()
    job = PredictionJob(shipped(detector), out)
    BlockPredictor(job, dict)({"block": [7], "inputs": [json.dumps(inputs)]})
    faults = [row["fault"] for row in rows(job) if row["fault"]]
    assert faults[:2] == [f"image {photos / '1.png'}: no such file", f"image {photos.as_uri()}/2.png: no such file"]


def test_what_an_actor_refuses_comes_as_data(detector: Path, photos: Path, out: str, tmp_path: Path) -> None:
    deployment = shipped(detector)
    broken = replace(deployment, contents={**deployment.contents, "model.onnx": b"another"})
    (refused,) = run(PredictionJob(broken, out), photos)["refused"]
    with pytest.raises(ZooportError, match=f"{detector}/model.onnx: ") as raised:
        raise_refusal(refused)
    assert (raised.value.exit_code, "zooport-deployment-" in str(raised.value)) == (2, False)
    (refused,) = run(PredictionJob(deployment, str(tmp_path / "gone")), photos)["refused"]
    with pytest.raises(ZooportError, match=r"^--out .*/gone: cannot be written \(.*\); make room, ") as raised:
        raise_refusal(refused)
    assert raised.value.exit_code == 2
    assert list(Path(out).iterdir()) == []
    raise_refusal("")


def test_what_cannot_be_computed_is_a_row_also_as_the_first_of_a_block(
    detector: Path, photos: Path, out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An actor that has computed nothing, or computes nothing any more, is no fault of its images."""
    inputs = [
        json.dumps(find_inputs([str(photos / name)], KIND, recursive=False)) for name in ("0.png", "1.png", "2.png")
    ]
    bad = [cv2.imread(str(photos / "1.png"))]
    original = Deployment._results

    def results(self: Any, items: Any, inputs: Any) -> Any:
        if any(np.array_equal(item.value, image) for item in items for image in bad):
            raise ExportError("no room")
        return original(self, items, inputs)

    monkeypatch.setattr(Deployment, "_results", results)
    job = PredictionJob(shipped(detector), out)
    predictor = BlockPredictor(job, dict)
    for block, text in enumerate(inputs):
        (refused,) = predictor({"block": np.array([block]), "inputs": [text]})["refused"]
        assert refused == ""
    (row,) = pq.read_table(Path(out, part_name(1))).to_pylist()
    assert row["fault"].endswith("1.png: no room")
    bad.append(cv2.imread(str(photos / "0.png")))
    for actor in (predictor, BlockPredictor(job, dict)):
        (refused,) = actor({"block": np.array([1]), "inputs": [inputs[1]]})["refused"]
        with pytest.raises(ZooportError, match="no room") as raised:
            raise_refusal(refused)
        assert raised.value.exit_code == ExportError.exit_code


def test_a_deployment_that_was_changed_is_not_shipped(detector: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in detector.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    with (copy / "model.onnx").open("r+b") as model:
        model.seek(100)
        model.write(b"x")
    with pytest.raises(InputError, match=r"model\.onnx"):
        deployment_contents(copy)


def test_a_kind_without_a_decoder_of_its_own_reads_a_file(photos: Path) -> None:
    base = type(KIND).__mro__[1]
    content = (photos / "5.png").read_bytes()
    assert (base.decode(KIND, content, "five") == KIND.decode(content, "five")).all()
    for decode in (base.decode, type(KIND).decode):
        with pytest.raises(InputError, match="^image five: not an image"):
            decode(KIND, b"no image", "five")
