"""`zooport init torchvision:NAME`: the checkpoint's own tensors say how many classes there are."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torchvision import models
from torchvision.models import detection, segmentation

from zoo.build import build_model
from zoo.config import load_config
from zoo.errors import InputError
from zoo.own_model import ModelRequest, WrittenConfig, write_config
from zoo.own_model.fitting import fitting_value, unfilled

SSDLITE, LRASPP = "ssdlite320_mobilenet_v3_large", "lraspp_mobilenet_v3_large"
FASTER = "fasterrcnn_mobilenet_v3_large_320_fpn"
RANDOM = {"weights": None, "weights_backbone": None}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Checkpoints of an SSDLite of 4 classes, and of an LR-ASPP of 5, as a training on several GPUs saves it."""
    folder = tmp_path_factory.mktemp("checkpoints")
    torch.save(detection.ssdlite320_mobilenet_v3_large(num_classes=4, **RANDOM).state_dict(), folder / "ssd.pth")
    state = segmentation.lraspp_mobilenet_v3_large(num_classes=5, **RANDOM).state_dict()
    torch.save({"model": {f"module.{name}": tensor for name, tensor in state.items()}}, folder / "seg.pth")
    return folder


def init(folder: Path, name: str, weights: str, out: Path, **options: Any) -> WrittenConfig:
    return write_config(ModelRequest(f"torchvision:{name}", folder / weights, out=out / "mine.py", **options))


@pytest.mark.slow
def test_a_detector_whose_batch_norms_were_frozen(folder: Path, tmp_path: Path) -> None:
    state = torch.load(folder / "ssd.pth")
    frozen = {name: tensor for name, tensor in state.items() if not name.endswith("num_batches_tracked")}
    torch.save(frozen, tmp_path / "frozen.pth")
    written = init(tmp_path, SSDLITE, "frozen.pth", tmp_path, classes=("cat", "dog", "fox"))
    config = load_config(written.path)
    section = {"type": "TorchvisionDetector", "architecture": SSDLITE, "frozen_batch_norm": 1e-5, "num_classes": 4}
    assert config.model == section
    assert any("has no counters of batch norms" in note for note in written.notes)
    names = [(info.name, info.category_id) for info in config.task.classes]
    assert names == [("background", None), ("cat", 1), ("dog", 2), ("fox", 3)]
    assert config.content["preprocess"] == {"size": (320, 320), "resize": "stretch", "interpolation": "bilinear"}
    assert config.checkpoint == "frozen.pth"


def test_a_segmentor_without_names(folder: Path, tmp_path: Path) -> None:
    written = init(folder, LRASPP, "seg.pth", tmp_path, size=(128, 160))
    config = load_config(written.path)
    assert config.model["num_classes"] == len(config.task.classes) == 5
    assert config.content["preprocess"]["size"] == (128, 160)
    assert "The checkpoint does not name its classes." in " ".join(written.notes)
    assert "# The checkpoint does not name its classes." in written.path.read_text()
    build_model(config)


@pytest.mark.parametrize(
    "name", ["fasterrcnn_resnet50_fpn", "retinanet_resnet50_fpn", "fcos_resnet50_fpn", "ssd300_vgg16"]
)
def test_every_head_counts_in_its_own_way(name: str) -> None:
    """Shapes alone: nothing has memory."""
    section = {"type": "TorchvisionDetector", "architecture": name}
    state = unfilled({**section, "num_classes": 7}).state_dict()
    assert all(tensor.is_meta for tensor in state.values() if tensor.numel() > 100)
    assert fitting_value(section, "num_classes", state, Path("x.pth")) == 7


def test_keypoints_are_counted_as_well() -> None:
    section = {"type": "TorchvisionDetector", "architecture": "keypointrcnn_resnet50_fpn", "num_classes": 2}
    state = unfilled({**section, "num_keypoints": 9}).state_dict()
    assert fitting_value(section, "num_keypoints", state, Path("x.pth")) == 9


@pytest.mark.parametrize(
    ("name", "weights", "options", "message"),
    [
        ("ssdlite320", "ssd.pth", {}, 'torchvision has no detector, .* of this name; nearest: "ssdlite320_mobilenet'),
        (
            SSDLITE,
            "ssd.pth",
            {"classes": ("cat",)},
            r"got 1 names, but .* has 4 classes; give 4 names, or 3 without the",
        ),
        (LRASPP, "seg.pth", {"classes": ("cat",)}, "got 1 names, but .* has 5 classes; give 5 names$"),
        (SSDLITE, "ssd.pth", {"size": (64, 64)}, "its own transform decides the size; give --arg min_size=PIXELS"),
        (LRASPP, "ssd.pth", {}, "checkpoint .*ssd.pth is not of this model: of 319 tensors 272 missing"),
        (LRASPP, "seg.pth", {"arguments": {"num_classes": "x"}}, "num_classes is 'x', expected an integer, 1 or"),
        (LRASPP, "seg.pth", {"arguments": {"num_classes": 0}}, "num_classes is 0, expected an integer, 1 or more"),
        (LRASPP, "seg.pth", {"arguments": {"type": "os.getcwd"}}, '--arg: "type" is not the name of an argument'),
        (LRASPP, "seg.pth", {"size": (100000, 100000)}, r"got size \(100000, 100000\), expected 1073741824 pixels at"),
        (FASTER, "seg.pth", {"arguments": {"min_size": "x", "num_classes": 3}}, "has min_size 'x' and max_size 640"),
        (SSDLITE, "ssd.pth", {"task": "Detection"}, "--task with torchvision:.*: torchvision:NAME does not take it"),
    ],
)
def test_faults(name: str, weights: str, options: dict[str, Any], message: str, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        init(folder, name, weights, tmp_path, **options)
    assert not list(tmp_path.iterdir())


def test_a_new_folder_is_made_and_removed_where_nothing_is_written(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not of this model"):
        init(folder, LRASPP, "seg.pth", tmp_path / "new/deep", arguments={"num_classes": 9}, size=(128, 160))
    assert not list(tmp_path.iterdir())
    written = init(folder, LRASPP, "seg.pth", tmp_path / "new/deep", size=(128, 160))
    assert written.path == tmp_path / "new/deep/mine.py"
    build_model(written.path)


@pytest.mark.parametrize("name", ["resnet18", "fcn_resnet50"])
def test_one_output_is_refused(name: str, tmp_path: Path) -> None:
    backbone = {"weights_backbone": None} if name.startswith("fcn") else {}
    hollow_checkpoint(name, tmp_path / "net.pth", num_classes=1, **backbone)
    with pytest.raises(InputError, match="net.pth has one output, which a threshold decides; zooport takes the best"):
        init(tmp_path, name, "net.pth", tmp_path)


def test_tensors_that_contradict_one_another(folder: Path, tmp_path: Path) -> None:
    state = torch.load(folder / "seg.pth")["model"]
    state["module.classifier.low_classifier.weight"] = torch.zeros(9, 40, 1, 1)
    torch.save(state, tmp_path / "mixed.pth")
    with pytest.raises(
        InputError, match=r"num_classes would be 5 \(.*\), 9 \(classifier.low_classifier.weight\); check"
    ):
        init(tmp_path, LRASPP, "mixed.pth", tmp_path)


def hollow_checkpoint(name: str, path: Path, **options: Any) -> None:
    """A file of few bytes: each tensor is one number in all its places."""
    with torch.device("meta"):
        state = models.get_model(name, weights=None, **options).state_dict()
    torch.save({key: torch.zeros((), dtype=value.dtype).expand(value.shape) for key, value in state.items()}, path)


@pytest.mark.parametrize(
    ("name", "weights", "edge", "interpolation"),
    [
        ("vit_b_16", "IMAGENET1K_V1", 256, "antialias"),  # the last of its weights has 224 and bicubic
        ("mobilenet_v2", "IMAGENET1K_V2", 232, "antialias"),
    ],
)
def test_a_classifiers_preprocessing_is_that_of_the_default_weights(
    name: str, weights: str, edge: int, interpolation: str, tmp_path: Path
) -> None:
    hollow_checkpoint(name, tmp_path / "net.pth", num_classes=5)
    written = init(tmp_path, name, "net.pth", tmp_path)
    preprocess = load_config(written.path).content["preprocess"]
    assert (preprocess["shortest_edge"], preprocess["interpolation"]) == (edge, interpolation)
    assert any(f"torchvision's weights {weights} of this model" in note for note in written.notes)


def test_a_changed_input_that_no_tensor_holds(tmp_path: Path) -> None:
    """A training that starts from torchvision's weights has it; the key says so, and can be changed."""
    hollow_checkpoint("googlenet", tmp_path / "net.pth", num_classes=5, aux_logits=False, init_weights=False)
    arguments = {"init_weights": False}
    written = init(tmp_path, "googlenet", "net.pth", tmp_path, arguments=arguments)
    assert load_config(written.path).model["transform_input"] is True
    assert load_config(written.path).model["aux_logits"] is False
    assert any("transform_input, which the checkpoint does not hold" in note for note in written.notes)
    (tmp_path / "mine.py").unlink()
    written = init(tmp_path, "googlenet", "net.pth", tmp_path, arguments={**arguments, "transform_input": False})
    assert load_config(written.path).model["transform_input"] is False
    assert not any("transform_input" in note for note in written.notes)
