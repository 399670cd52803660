"""`zooport init`: a config for a COCO file of one's own, and what is wrong with such files."""

import ast
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.training import Recipe
from pipeline.training.own_config import DataRequest, OwnConfig, write_config
from pipeline.training.own_config.parts import two_parts
from pipeline.training.own_data import own_dataset
from tests.zoo_configs import ROOT
from zoo.build import build_model
from zoo.config import load_config
from zoo.config.source import config_source
from zoo.datasets.building import config_dataset
from zoo.datasets.shapes import write_shapes
from zoo.errors import InputError
from zooport.verbs import run_verb

DETECTOR = "faster-rcnn_r18-fpn_digits"
Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_shapes(tmp_path / "data", count=10)


def changed(data: Path, change: Change) -> Path:
    content = json.loads(data.read_text())
    change(content)
    data.write_text(json.dumps(content, indent=1))
    return data


def init(data: Path, base: str = DETECTOR, **options: Any) -> OwnConfig:
    config = load_config(next((ROOT / "configs").rglob(f"{base}.py")))
    return write_config(DataRequest(config, data, data.parents[1] / "mine.py", data.parent / "images", **options))


class TestTheConfig:
    def test_it_trains_the_bases_model_on_the_files_classes(self, data: Path) -> None:
        written = init(data)
        config = load_config(written.path)
        names = [(info.name, info.category_id) for info in config.task.classes]
        assert names == [("background", None), ("circle", 3), ("triangle", 7), ("star", 12)]
        assert config.model["num_classes"] == 4
        recipe = Recipe.from_config(config)
        assert (config.path.parent / str(recipe.load_from)).resolve() == ROOT / f"zoo/weights/{DETECTOR}.safetensors"
        assert (config.card, config.gates, config.gate_dataset) == (None, None, None)
        assert not [value for value in config.content.values() if isinstance(value, dict) and "Digits" in str(value)]
        build_model(config, weights=False)
        learned = own_dataset(config)
        judged = config_dataset(config, "dataset")
        assert (len(learned), len(judged)) == written.images == (8, 2)
        assert not {entry.path for entry in learned.entries} & {entry.path for entry in judged.entries}
        assert "model.anchor_sizes: the base's, and chosen for its data; check that your objects fit" in written.notes

    @pytest.mark.parametrize(
        ("base", "kind", "count"),
        [("mask-rcnn_r18-fpn_digits", "CocoInstances", 4), ("yolov5n_digits", "CocoDetection", 3)],
    )
    def test_each_base_counts_its_classes_in_its_way(self, base: str, kind: str, count: int, data: Path) -> None:
        config = load_config(init(data, base).path)
        assert config.model["num_classes"] == len(config.task.classes) == count
        assert config.train_dataset is not None
        assert config.train_dataset["type"] == kind

    def test_keypoints(self, data: Path) -> None:
        def with_points(content: dict[str, Any]) -> None:
            for record in content["annotations"]:
                x, y, width, height = record["bbox"]
                record["keypoints"] = [x, y, 2, x + width, y + height, 1]

        config = load_config(init(changed(data, with_points), "keypoint-rcnn_r18-fpn_digits").path)
        assert config.model["num_keypoints"] == 2
        assert config.evaluator == {"type": "CocoKeypointAP", "sigmas": (0.079, 0.079)}

    def test_it_moves_with_its_data(self, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        init(data)
        (tmp_path / "elsewhere").mkdir()
        for name in ("mine.py", "mine_train.json", "mine_val.json", "data"):
            (tmp_path / name).rename(tmp_path / "elsewhere" / name)
        assert len(own_dataset(load_config("elsewhere/mine.py"))) == 8

    def test_a_base_without_weights(self, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("pipeline.training.own_config.content.start_weights", lambda _: None)
        monkeypatch.setattr("pipeline.training.own_config.writing.start_weights", lambda _: None)
        written = init(data)
        recipe = Recipe.from_config(load_config(written.path))
        assert (recipe.load_from, recipe.iterations) == (None, 750)
        assert any(note.startswith("the base has no weights on this machine") for note in written.notes)

    def test_a_file_to_be_judged_on(self, data: Path, tmp_path: Path) -> None:
        val = tmp_path / "val.json"
        content = json.loads(data.read_text())
        images = content["images"][:2]
        records = [each for each in content["annotations"] if each["image_id"] in [image["id"] for image in images]]
        val.write_text(json.dumps(content | {"images": images, "annotations": records}))
        written = init(data, val=val)
        assert written.annotations == (data, val)
        assert written.images == (10, 2)
        others = tmp_path / "val"
        others.mkdir()
        for image in images:
            shutil.copy(data.parent / "images" / image["file_name"], others)
        written = init(data, val=val, val_images=others, force=True)
        config = load_config(written.path)
        assert config.train_dataset is not None
        assert config.dataset is not None
        assert [Path(section["images"]).name for section in (config.train_dataset, config.dataset)] == ["images", "val"]
        with pytest.raises(
            InputError, match="--val-images .*: needs --val, and data that takes --images; leave the flag out"
        ):
            init(data, val_images=others, force=True)

    @given(
        st.dictionaries(
            st.sampled_from(("model", "task", "train")),
            st.recursive(
                st.none() | st.booleans() | st.integers() | st.floats(-1e9, 1e9) | st.text(),
                lambda inner: (
                    st.lists(inner, max_size=3)
                    | st.lists(inner, max_size=3).map(tuple)
                    | st.dictionaries(
                        st.sampled_from(("a", "type", "lr", "class", "a-b", "x=1, y", "")), inner, max_size=3
                    )
                ),
                max_leaves=20,
            ),
        )
    )
    def test_the_source_is_the_content(self, content: dict[str, Any]) -> None:
        source = config_source("What it is.", ["a comment"], content)
        names: dict[str, Any] = {}
        exec(compile(ast.parse(source), "config", "exec"), names)
        assert {key: names[key] for key in content} == content


class TestBothParts:
    def test_every_class_is_in_both_where_it_can_be(self, tmp_path: Path) -> None:
        written = init(write_shapes(tmp_path / "data", count=20))
        parts = [json.loads(file.read_text())["annotations"] for file in written.annotations]
        assert [{record["category_id"] for record in part} for part in parts] == [{3, 7, 12}] * 2

    def test_the_same_on_each_run(self) -> None:
        labels = [{place % 3} for place in range(20)]
        learned, judged = two_parts(labels, "data")
        assert (len(learned), len(judged)) == (16, 4)
        assert sorted(learned + judged) == list(range(20))
        assert {place % 3 for place in judged} == {0, 1, 2}
        assert (learned, judged) == two_parts(labels, "data")

    def test_one_image_is_too_few(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"1 image\(s\), expected 2 or more: some to train on"):
            init(write_shapes(tmp_path / "data", count=1))


def rename(content: dict[str, Any]) -> None:
    content["categories"][2]["name"] = "circle"


def leave_the_image(content: dict[str, Any]) -> None:
    content["annotations"][0]["bbox"] = [230, 10, 40, 20]


def only_crowds(content: dict[str, Any]) -> None:
    for record in content["annotations"]:
        record["iscrowd"] = 1


class TestFaults:
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (
                rename,
                r'annotations.json: 2 categories are called "circle", ids 3, 12; give each class a name of its own',
            ),
            (lambda content: content["categories"][0].pop("name"), 'category 3: "name": got None, expected a string'),
            (lambda content: content.update(categories=[]), "annotations.json: no categories, which are the classes"),
            (lambda content: content.pop("categories"), 'no list "categories"; a COCO annotation file has "images"'),
            (leave_the_image, r"annotations.json, line \d+: annotation 1: bbox .* reaches 30 px outside its image"),
            (only_crowds, "annotations.json: no objects in 10 images, which are there to train on or to validate on"),
            (lambda content: content.update(annotations=[]), "annotations.json: no objects in 10 images"),
            (lambda content: content.update(images=[], annotations=[]), "no images, expected one or more"),
        ],
    )
    def test_of_a_file(self, change: Change, message: str, data: Path) -> None:
        changed(data, change)
        with pytest.raises(InputError, match=message):
            init(data)
        assert not list(data.parents[1].glob("mine*"))

    def test_an_image_that_is_missing(self, data: Path) -> None:
        (data.parent / "images/003.jpg").unlink()
        with pytest.raises(InputError, match=r"annotations.json, line \d+: image .*003.jpg: no such file"):
            init(data)

    def test_what_is_no_fault_but_worth_a_line(self, data: Path) -> None:
        def change(content: dict[str, Any]) -> None:
            content["categories"].append({"id": 40, "name": "square"})
            content["annotations"] = [record for record in content["annotations"] if record["image_id"] != 103]

        notes = init(changed(data, change)).notes
        assert "no objects of square: a model cannot learn them" in notes
        assert any(note.endswith("images have no objects: they are learned as background") for note in notes)

    def test_a_base_that_learns_from_something_else(self, data: Path) -> None:
        with pytest.raises(InputError, match="semantic-segmentation does not learn from COCO annotations; give a base"):
            init(data, "fcn_r18_digits")

    def test_nothing_is_written_over(self, data: Path) -> None:
        kept = data.parents[1] / "mine_val.json"
        kept.write_text("mine")
        with pytest.raises(InputError, match="mine_val.json: this file already exists; give another --out, or --force"):
            init(data)
        assert kept.read_text() == "mine"
        assert not (data.parents[1] / "mine.py").exists()

    def test_force_replaces_what_was_written_but_never_the_data(self, data: Path) -> None:
        before = init(data)
        after = init(data, force=True)
        assert after == before
        own = data.rename(data.parents[1] / "mine_train.json")
        content = own.read_text()
        config = load_config(next((ROOT / "configs").rglob(f"{DETECTOR}.py")))
        with pytest.raises(InputError, match="mine_train.json: this file already exists"):
            write_config(DataRequest(config, own, own.with_name("mine.py"), data.parent / "images", force=True))
        assert own.read_text() == content


class TestTheCommand:
    def test_it_says_what_comes_next(
        self, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.chdir(tmp_path)
        flags = ["--data", str(data), "--images", str(data.parent / "images"), "--base", DETECTOR]
        assert run_verb(["init", *flags]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[-2] == "config: data.py (circle, triangle, star), 8 images to learn, 2 to validate"
        assert lines[-1] == "next: zooport train data.py"
        assert run_verb(["init", *flags]) == 2
        assert capsys.readouterr().err.startswith("error: data.py: this file already exists")

    def test_force_does_not_replace_the_base(self, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
        base = data.parent / "mine.py"
        base.write_text(f'_base_ = ["{next((ROOT / "configs").rglob(f"{DETECTOR}.py"))}"]\n')
        before = base.read_text()
        flags = ["--data", str(data), "--images", str(data.parent / "images"), "--base", str(base)]
        assert run_verb(["init", *flags, "--out", str(base), "--force"]) == 2
        assert "the config is made of this file and would replace it; give another --out" in capsys.readouterr().err
        assert base.read_text() == before

    @pytest.mark.parametrize(
        ("flags", "message"),
        [
            ({"--base": "faster-rcnn_r18"}, 'error: config faster-rcnn_r18: no such file; nearest: "faster-rcnn'),
            ({"--data": "none.json"}, "error: --data none.json: no such file or folder; give COCO annotations, or"),
            ({"--images": "none"}, "error: --images none: no such folder; give the folder of the images"),
            ({"--out": "x.json"}, "error: --out x.json: expected a name that ends in .py"),
        ],
    )
    def test_wrong_flags(
        self, flags: dict[str, str], message: str, data: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        good = {"--data": str(data), "--images": str(data.parent / "images"), "--base": DETECTOR}
        assert run_verb(["init", *(word for pair in (good | flags).items() for word in pair)]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert err.startswith(message)
