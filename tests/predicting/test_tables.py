"""Tables of predictions: JSON lines, CSV, Parquet and COCO; of images without objects, with a fault, of any name."""

import contextlib
import csv
import io
import json
import os
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from backends import load
from tests.predicting.conftest import Predict
from tests.zoo.sources.videos import write_video
from zoo.errors import InputError
from zoo.metrics import CocoBoxAP
from zoo.tables.json_lines import JsonLines
from zoo.tasks import build_task
from zoo.tasks.detection import DetectionResult
from zoo.tasks.tensors import TensorsResult

CLASSES = 6  # of the detector, with ids of categories 1 to 6


@pytest.fixture
def faulty(photos: Path) -> Path:
    """One of the six photos is none."""
    (photos / "3.png").write_bytes(b"no image")
    return photos


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_json_lines_have_every_input(predict: Predict, detector: Path, faulty: Path, tmp_path: Path) -> None:
    assert predict(detector, faulty, "--out", tmp_path / "out", "--format", "jsonl").code == 6
    rows = lines(tmp_path / "out/predictions.jsonl")
    assert [Path(row["source"]).name for row in rows] == [f"{number}.png" for number in range(6)]
    assert rows[0] == {
        "source": str(faulty / "0.png"),
        "frame": None,
        "height": 64,
        "width": 96,
        "fault": None,
        "objects": [],
    }
    assert (rows[3]["height"], "objects" in rows[3]) == (None, False)
    assert rows[3]["fault"].startswith(f"image {faulty / '3.png'}: not an image")
    with load(detector) as model:
        expected = model(cv2.imread(str(faulty / "5.png"))).to_dict()
    assert rows[5]["objects"] == expected["objects"]
    assert set(rows[5]["objects"][0]) == {"class", "label", "score", "box"}
    assert [path.name for path in (tmp_path / "out").iterdir() if not path.name.startswith(".")] == [
        "predictions.jsonl"
    ]


def test_an_output_of_the_name_of_a_column_is_refused() -> None:
    table = JsonLines(build_task({"type": "Tensors"}))
    assert list(table.entry(TensorsResult({"depth": np.ones(3, np.float32)}))) == ["depth"]
    with pytest.raises(InputError, match='the output "height" has the name of a common column; give --format files'):
        table.entry(TensorsResult({"depth": np.ones(3, np.float32), "height": np.ones(3, np.float32)}))


def test_csv_has_a_line_for_each_object_and_for_each_input_without_any(
    predict: Predict, detector: Path, faulty: Path, tmp_path: Path
) -> None:
    predict(detector, faulty, "--out", tmp_path / "out", "--format", "csv")
    with (tmp_path / "out/predictions.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [
        *("source", "frame", "height", "width", "fault"),
        *("class", "label", "score", "x1", "y1", "x2", "y2"),
    ]
    counts = {name: sum(Path(row["source"]).name == f"{name}.png" for row in rows) for name in range(6)}
    assert counts == {0: 1, 1: 1, 2: 1, 3: 1, 4: 3, 5: 4}
    assert (rows[0]["class"], rows[0]["score"], rows[0]["height"]) == ("", "", "64")
    assert rows[3]["fault"] != ""
    assert (rows[-1]["class"], rows[-1]["label"]) == ("c4", "4")


def test_frames_of_a_video_are_numbered(predict: Predict, detector: Path, tmp_path: Path) -> None:
    video = write_video(tmp_path / "a.avi", frames=5)
    assert predict(detector, video, "--out", tmp_path / "out", "--format", "jsonl", "coco").code == 0
    assert [row["frame"] for row in lines(tmp_path / "out/predictions.jsonl")] == list(range(5))
    images = json.loads((tmp_path / "out/predictions.images.json").read_text(encoding="utf-8"))["images"]
    assert [(image["id"], image["frame"]) for image in images] == [(1 + number, number) for number in range(5)]


def test_segments_have_rows_and_masks(predict: Predict, segmentor: Path, tmp_path: Path) -> None:
    half = np.zeros((64, 96, 3), np.uint8)
    half[:, :48, 0], half[:, 48:, 2] = 200, 200
    cv2.imwrite(str(tmp_path / "half.png"), half)
    formats = ["--format", "csv", "coco", "files"]
    assert predict(segmentor, tmp_path / "half.png", "--out", tmp_path / "out", *formats).code == 0
    with (tmp_path / "out/predictions.csv").open(encoding="utf-8", newline="") as file:
        assert [(row["class"], row["share"]) for row in csv.DictReader(file)] == [("background", "0.5"), ("c2", "0.5")]
    (segment,) = json.loads((tmp_path / "out/predictions.coco.json").read_text(encoding="utf-8"))
    assert (segment["category_id"], segment["segmentation"]["size"]) == (2, [64, 96])
    assert cv2.imread(str(tmp_path / "out/half.png"), cv2.IMREAD_UNCHANGED).shape == (64, 96)


def test_names_of_any_kind(predict: Predict, detector: Path, photos: Path, tmp_path: Path) -> None:
    for stem in ("[bold]b", "\x1b[31mc", "d\ne", os.fsdecode(b"\xff"), '"x",=1+1'):
        (photos / f"{stem}.png").write_bytes((photos / "5.png").read_bytes())
    run = predict(detector, photos, "--out", tmp_path / "out", "--format", "files", "jsonl", "csv", "coco")
    assert (run.code, run.err) == (0, "")
    sources = [row["source"] for row in lines(tmp_path / "out/predictions.jsonl")]
    assert sorted(map(os.fsencode, sources)) == sorted(os.fsencode(path) for path in photos.iterdir())
    assert all((tmp_path / "out" / f"{path.stem}.json").is_file() for path in photos.iterdir())
    with (tmp_path / "out/predictions.csv").open(encoding="utf-8", newline="") as file:
        named = {Path(row["source"]).stem for row in csv.DictReader(file)}
    assert {"d\ne", "\\udcff", '"x",=1+1'} <= named


def test_parquet_is_typed_also_where_nothing_was_found(
    predict: Predict, detector: Path, photos: Path, tmp_path: Path
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="extra [parquet] is not installed")
    schemas = []
    for out, image in (("none", "0.png"), ("some", "5.png")):
        assert predict(detector, photos / image, "--out", tmp_path / out, "--format", "parquet").code == 0
        table = parquet.read_table(tmp_path / out / "predictions.parquet")
        schemas.append(table.schema)
        assert len(table) == (1 if out == "none" else 4)
        assert table.to_pylist()[0]["class"] == (None if out == "none" else "c1")
    assert schemas[0] == schemas[1]
    assert str(schemas[0].field("score").type) == "float"


class TestCoco:
    """What pycocotools makes of the file is what the metric makes of the results."""

    @pytest.fixture
    def images(self, tmp_path: Path) -> Path:
        """24 grey images of many brightnesses, whose names are their ids, not in the order of the list."""
        folder = tmp_path / "images"
        folder.mkdir()
        for number in range(24):
            grey = np.full((64 + number, 96, 3), 10 * number + 5, np.uint8)
            cv2.imwrite(str(folder / f"{5 * number % 24:06}.png"), grey)
        return folder

    @pytest.fixture
    def truth(self, images: Path, detector: Path, tmp_path: Path) -> Path:
        """Every second box that is found, moved a little, and one that is not."""
        chance = np.random.default_rng(0)
        annotations: list[dict[str, Any]] = []
        with load(detector) as model:
            for path in sorted(images.iterdir()):
                found = model(cv2.imread(str(path)))
                for each in [*found][::2]:
                    x1, y1, x2, y2 = (each.box + chance.uniform(0, 8, 4)).tolist()
                    annotations.append(
                        {"category_id": each.label, "bbox": [x1, y1, x2 - x1, y2 - y1], "image_id": path}
                    )
                annotations.append({"category_id": 6, "bbox": [5.0, 5.0, 40.0, 40.0], "image_id": path})
        for number, annotation in enumerate(annotations, 1):
            width, height = annotation["bbox"][2:]
            more = {"id": number, "image_id": int(annotation["image_id"].stem), "area": width * height, "iscrowd": 0}
            annotation.update(more)
        content = {
            "images": [{"id": int(path.stem), "file_name": path.name} for path in sorted(images.iterdir())],
            "annotations": annotations,
            "categories": [{"id": number, "name": f"c{number}"} for number in range(1, CLASSES + 1)],
        }
        (tmp_path / "truth.json").write_text(json.dumps(content), encoding="utf-8")
        return tmp_path / "truth.json"

    @pytest.mark.parametrize("annotated", [False, True])
    def test_the_ap_is_that_of_the_metric(
        self, predict: Predict, detector: Path, images: Path, truth: Path, tmp_path: Path, annotated: bool
    ) -> None:
        if annotated:  # ids that no name of a file says
            content = json.loads(truth.read_text(encoding="utf-8"))
            for entry in (*content["images"], *content["annotations"]):
                key = "image_id" if "image_id" in entry else "id"
                entry[key] = 1000 - entry[key]
            truth.write_text(json.dumps(content), encoding="utf-8")
        more = ["--annotations", truth] if annotated else []
        assert predict(detector, images, "--out", tmp_path / "out", "--format", "coco", *more).code == 0
        theirs = stats(truth, tmp_path / "out/predictions.coco.json", "bbox")
        metric = CocoBoxAP()
        gold = COCO_of(truth)
        with load(detector) as model:
            for number in gold.getImgIds():
                boxes = gold.loadAnns(gold.getAnnIds(number))
                corners = np.array([each["bbox"] for each in boxes])
                corners[:, 2:] += corners[:, :2]
                labels = [each["category_id"] for each in boxes]
                item = {
                    "image_id": number,
                    "boxes": corners,
                    "labels": labels,
                    "areas": [each["area"] for each in boxes],
                }
                result = model(cv2.imread(str(images / gold.loadImgs(number)[0]["file_name"])))
                assert isinstance(result, DetectionResult)
                metric.process([item], [result])
        figures = metric.evaluate(len(gold.getImgIds()))
        assert 5 < theirs[0] < 95
        assert theirs[:3] == pytest.approx([figures[f"coco/box_{name}"] for name in ("AP", "AP50", "AP75")], abs=1e-9)

    def test_nothing_found_is_an_empty_list(
        self, predict: Predict, detector: Path, photos: Path, tmp_path: Path
    ) -> None:
        assert predict(detector, photos / "0.png", "--out", tmp_path / "out", "--format", "coco").code == 0
        assert json.loads((tmp_path / "out/predictions.coco.json").read_text(encoding="utf-8")) == []
        listed = json.loads((tmp_path / "out/predictions.images.json").read_text(encoding="utf-8"))
        assert [image["id"] for image in listed["images"]] == [0]
        assert listed["categories"][0] == {"id": 1, "name": "c1"}

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("[]", "expected an object"),
            ('{"images": [{"id": "1", "file_name": "0.png"}]}', "expected a list of {id, file_name}"),
            ('{"images": [{"id": 1, "file_name": "other.png"}]}', "no image of the name"),
            ('{"images": [{"id": 1, "file_name": "0.png"}, {"id": 2, "file_name": "my photos/0.png"}]}', "2 images of"),
        ],
    )
    def test_annotations_of_other_images(
        self, predict: Predict, detector: Path, photos: Path, tmp_path: Path, content: str, message: str
    ) -> None:
        (tmp_path / "truth.json").write_text(content, encoding="utf-8")
        more = ["--format", "coco", "--annotations", tmp_path / "truth.json"]
        run = predict(detector, photos / "0.png", "--out", tmp_path / "out", *more)
        assert (run.code, run.err.count("\n")) == (2, 1)
        assert message in run.err


def COCO_of(path: Path) -> COCO:  # noqa: N802 - as pycocotools calls it
    with contextlib.redirect_stdout(io.StringIO()):
        return COCO(str(path))


def stats(truth: Path, results: Path, shape: str) -> list[float]:
    """AP, AP50, AP75 ... in points, by pycocotools alone."""
    with contextlib.redirect_stdout(io.StringIO()):
        gold = COCO(str(truth))
        evaluation = COCOeval(gold, gold.loadRes(str(results)), shape)
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return [100 * float(value) for value in evaluation.stats]
