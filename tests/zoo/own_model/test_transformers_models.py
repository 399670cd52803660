"""Configs of the folders that transformers' own models write build them, with their weights and classes."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.small_query_detectors import save
from tests.small_transformers_segmentors import saved
from zoo.build import build_model
from zoo.config import config_target, load_config
from zoo.errors import InputError
from zoo.families import checked_divisor
from zoo.own_model import ModelRequest, WrittenConfig, write_config

pytestmark = pytest.mark.libraries
transformers = pytest.importorskip("transformers", reason="the extra transformers is not installed")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small DETR, and the image processor of the library that belongs to it."""
    save("detr", tmp_path / "my-detr")
    return tmp_path / "my-detr"


def init(folder: Path, **options: Any) -> WrittenConfig:
    return write_config(ModelRequest(str(folder), out=folder.parent / "mine.py", **options))


def test_a_detector_with_a_resize_of_the_shortest_edge(folder: Path) -> None:
    size = {"shortest_edge": 64, "longest_edge": 96}
    transformers.DetrImageProcessor(size=size).save_pretrained(folder)
    config = load_config(init(folder).path)
    assert config.model == {"type": "TransformersDetector", "folder": "my-detr"}
    assert config.checkpoint == "my-detr/model.safetensors"
    assert [info.name for info in config.task.classes] == [f"LABEL_{index}" for index in range(5)]
    assert (config.preprocess.resize, config.preprocess.shortest_edge, config.preprocess.longest_edge) == (
        *("shortest", 64),
        96,
    )
    state = transformers.AutoModelForObjectDetection.from_pretrained(folder).state_dict()
    built = build_model(config).model.state_dict()
    assert all(torch.equal(built[name], tensor) for name, tensor in state.items())


def test_a_fixed_size_pads(folder: Path) -> None:
    transformers.DetrImageProcessor(size={"shortest_edge": 64, "longest_edge": 96}).save_pretrained(folder)
    written = init(folder, size=(64, 96), classes=("a", "b", "c", "d", "e"))
    config = load_config(written.path)
    assert (config.preprocess.size, config.preprocess.resize) == ((64, 96), "letterbox")
    assert config.preprocess.interpolation == "antialias"
    assert config.preprocess.mean == (0.485, 0.456, 0.406)
    assert any("scaled and padded to this size" in note for note in written.notes)


def test_a_classifier(tmp_path: Path) -> None:
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    names = {0: "cat", 1: "dog", 2: "fox"}
    settings = transformers.ViTConfig(**sizes, image_size=64, patch_size=16, id2label=names)
    transformers.ViTForImageClassification(settings).save_pretrained(tmp_path / "vit")
    transformers.ViTImageProcessor(size={"height": 64, "width": 64}).save_pretrained(tmp_path / "vit")
    written = init(tmp_path / "vit")
    assert (written.task, written.classes) == ("image-classification", ("cat", "dog", "fox"))


def test_an_old_file_names_no_processor(folder: Path) -> None:
    """Those of version 4.5 and before have a size, mean and std: the processor is that of the model_type."""
    fields = {"size": 64, "max_size": 96, "image_mean": [0.5] * 3, "image_std": [0.25] * 3}
    (folder / "preprocessor_config.json").write_text(json.dumps(fields))
    assert load_config(init(folder).path).preprocess.longest_edge == 96
    (folder / "config.json").write_text(json.dumps({"model_type": "bert", "architectures": ["BertModel"]}))
    with pytest.raises(
        InputError, match="the image processor of .*my-detr cannot be built by transformers: ValueError"
    ):
        write_config(ModelRequest(str(folder), out=folder.parent / "other.py"))


def test_a_classifier_of_one_output_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "vit"
    settings = transformers.ViTConfig(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, image_size=32, num_labels=1
    )
    transformers.ViTForImageClassification(settings).save_pretrained(folder)
    with pytest.raises(InputError, match="config.json has one output, which a threshold decides"):
        init(folder, size=(32, 32))


def test_a_model_of_two_tasks(tmp_path: Path) -> None:
    folder = saved("maskformer", tmp_path / "masks")
    transformers.MaskFormerImageProcessor(size={"height": 64, "width": 96}).save_pretrained(folder)
    written = init(folder, size=(64, 96))
    assert load_config(written.path).model["type"] == "TransformersSegmentor"
    assert "For its other results give --task InstanceMasks." in written.notes
    written = init(folder, size=(64, 96), task="InstanceMasks", force=True)
    assert load_config(written.path).model["type"] == "TransformersInstanceSegmentor"
    assert written.task == "instance-masks"
    assert not [note for note in written.notes if "--task" in note]
    with pytest.raises(
        InputError, match="--task Detection with .*: the model is for SemanticSegmentation or InstanceMa"
    ):
        init(folder, size=(64, 96), task="Detection", force=True)


def test_ids_that_are_no_places_are_refused(folder: Path) -> None:
    transformers.DetrImageProcessor().save_pretrained(folder)
    content = json.loads((folder / "config.json").read_text()) | {"id2label": {"1": "cat", "2": "dog"}}
    (folder / "config.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match='"id2label" has the ids 1 to 2, 2 in all, expected 0 to 1'):
        init(folder)


def test_an_architecture_that_asks_the_hub_is_stopped(folder: Path) -> None:
    """transformers looks a backbone up by its name, whatever was said of local files."""
    transformers.DetrImageProcessor().save_pretrained(folder)
    backbone = {"backbone": "microsoft/resnet-50", "backbone_config": None, "use_timm_backbone": False}
    content = json.loads((folder / "config.json").read_text()) | backbone
    (folder / "config.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match="tries to download something"):
        init(folder)


def test_what_cannot_be_mapped_is_left_to_the_reader(folder: Path) -> None:
    transformers.DetrImageProcessor(resample=0).save_pretrained(folder)
    written = init(folder, size=(64, 96))
    assert load_config(written.path).preprocess.mean == (0.485, 0.456, 0.406)
    (note,) = (note for note in written.notes if "resample" in note)
    assert note.endswith("So images are stretched. Replace this with what your training did.")


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        (
            {"architectures": ["DetrModel"]},
            {},
            "describes DetrModel, for which zooport has no type: it takes .*object detection",
        ),
        ({"architectures": None}, {}, 'config.json: no "architectures"; save the model itself'),
        (
            {"backbone_config": {"model_args": {"checkpoint_path": "x.bin"}}},
            {},
            '"model_args" has "checkpoint_path": timm would read files of its own',
        ),
        ({"model_type": "detrr"}, {}, 'transformers has no model_type "detrr"; nearest: "detr"'),
        (
            {},
            {"task": "Classification"},
            "--task Classification with .*: the model is for Detection; leave the flag out",
        ),
        ({}, {"classes": ("a",)}, "--classes: got 1 names, but .* has 5 classes; give 5 names"),
    ],
)
def test_refusals(changes: dict[str, Any], options: dict[str, Any], message: str, folder: Path) -> None:
    content = json.loads((folder / "config.json").read_text()) | changes
    (folder / "config.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=message) as raised:
        init(folder, size=(64, 64), **options)
    assert "\n" not in str(raised.value)
    assert not (folder.parent / "mine.py").exists()


def test_images_of_several_sizes_get_the_exporter_that_takes_them(tmp_path: Path) -> None:
    save("deformable_detr", tmp_path / "mine")
    transformers.DeformableDetrImageProcessor(size={"shortest_edge": 64, "longest_edge": 96}).save_pretrained(
        tmp_path / "mine"
    )
    written = init(tmp_path / "mine")
    assert config_target(load_config(written.path)).exporter == "torchscript"
    assert (
        "The graph of DeformableDetrForObjectDetection by dynamo would keep the size of one image, and the images here "
        "have several." in written.notes
    )
    assert config_target(load_config(init(tmp_path / "mine", size=(64, 96), force=True).path)).exporter == "dynamo"


def test_sides_that_follow_from_the_image_are_padded_to_what_the_model_takes(tmp_path: Path) -> None:
    folder = saved("depth_anything", tmp_path / "mine")
    transformers.DPTImageProcessor(do_resize=False, do_pad=False).save_pretrained(folder)
    written = init(folder)
    config = load_config(written.path)
    assert config.preprocess.size_divisor == 14
    checked_divisor(build_model(config).model, config_target(config))
    assert any("takes multiples of 14 pixels, so sides are padded" in note for note in written.notes)


def test_sides_that_are_multiples_already_are_left_alone(tmp_path: Path) -> None:
    folder = saved("depth_anything", tmp_path / "mine")
    fields = {"size": {"height": 56, "width": 84}, "keep_aspect_ratio": True, "ensure_multiple_of": 14}
    transformers.DPTImageProcessor(**fields, resample=3).save_pretrained(folder)
    written = init(folder)
    assert written.notes == ()
    config = load_config(written.path)
    assert (config.preprocess.resize, config.preprocess.fit_size) == ("nearest_scale", (56, 84))
    assert config.preprocess.size_divisor == 1
    checked_divisor(build_model(config).model, config_target(config))


def test_a_size_that_the_model_does_not_take_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    folder = saved("depth_anything", tmp_path / "mine")
    transformers.DPTImageProcessor(size={"height": 56, "width": 80}).save_pretrained(folder)
    with pytest.raises(InputError, match="^width 80: .* takes multiples of 14; give 70 or 84 in preprocess.size$"):
        init(folder)
    assert not (tmp_path / "mine.py").exists()
