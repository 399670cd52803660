"""A detector with the input image_sizes, through the tools: deployed, proved, loaded, evaluated, refused."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from backends import load
from tests.rewriters.small_models import small_faster_rcnn
from tests.tools.tiny import Run, Tiny
from zoo import build_model
from zoo.errors import InputError

pytestmark = pytest.mark.usefixtures("no_plots")

Tool = Callable[[Sequence[str]], Run]

ROOT = Path(__file__).parents[2]
SAMPLE_IMAGES = sorted((ROOT / "zoo" / "data" / "digits" / "val" / "images").iterdir())
# Heights and widths that are not resized for a tensor of 128x160, because chance weights magnify a resize's rounding;
# torchvision resizes the second one inside, to 160x125.
SIZES = ((90, 160), (128, 100), (128, 160))
CONFIG = """
model = dict(
    type="FasterRCNN", num_classes=4, backbone=dict(base_channels=4, out_channels=16),
    anchor_sizes=(8, 16, 32, 64, 128), box_head_channels=32, min_size=128, max_size=160,
    rpn_pre_nms_top_n_test=60, rpn_post_nms_top_n_test=40, box_score_thresh=0.3, box_detections_per_img=20,
)
checkpoint = "rcnn.safetensors"
task = dict(type="Detection", classes=[dict(name="background", category_id=None)]
            + [dict(name=str(digit), category_id=digit + 1) for digit in range(3)])
preprocess = dict(size=(128, 160))
dataset = dict(type="CocoDetection", images="{folder}", annotations="{folder}/truth.json")
evaluator = dict(type="CocoBoxAP")
export = dict(exporter="torchscript", opset=17, inputs=dict(batch=(1, 2, 4), image_sizes=True),
              rewriters=["zoo.contract.valid_regions.valid_regions"])
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """The config, its checkpoint, and a data set of images that end at different places."""
    save_file(small_faster_rcnn().state_dict(), tmp_path / "rcnn.safetensors")
    images, annotations = [], []
    for number, (sample_image, (height, width)) in enumerate(zip(SAMPLE_IMAGES, SIZES, strict=False)):
        cv2.imwrite(str(tmp_path / f"{number}.png"), cv2.resize(cv2.imread(str(sample_image)), (width, height)))
        images.append({"id": number, "file_name": f"{number}.png", "height": height, "width": width})
        box = {"category_id": 1 + number, "bbox": [10, 20, 60, 70], "area": 4200, "iscrowd": 0}
        annotations.append({"id": number, "image_id": number, **box})
    categories = [{"id": number, "name": str(number)} for number in (1, 2, 3)]
    truth = {"images": images, "annotations": annotations, "categories": categories}
    (tmp_path / "truth.json").write_text(json.dumps(truth), encoding="utf-8")
    path = tmp_path / "rcnn.py"
    path.write_text(CONFIG.format(folder=tmp_path), encoding="utf-8")
    return path


def deployed(config: Path, deploy: Tool, *more: str) -> Path:
    """The deployment's folder; its parity passed."""
    file = config.parent / "deployed.json"
    images = [str(config.parent / f"{number}.png") for number in range(len(SIZES))]
    run = deploy(
        [str(config), "--work-dir", str(config.parent / "work"), "--json", str(file), "--image", *images, *more]
    )
    assert (run.code, run.err) == (0, "")
    found = json.loads(file.read_text(encoding="utf-8"))
    assert found["parity"]["verdict"] == "passed"
    assert found["parity"]["summary"]["graph"]["matched"] > 10
    return Path(found["deployment"])


def inputs(folder: Path) -> list[dict[str, Any]]:
    manifest: dict[str, Any] = json.loads((folder / "deployment.json").read_text(encoding="utf-8"))
    declared: list[dict[str, Any]] = manifest["inputs"]
    return declared


@pytest.mark.slow
def test_an_image_gives_what_torchvision_gives_for_it_alone(config: Path, deploy: Tool) -> None:
    folder = deployed(config, deploy)
    assert folder.name == "onnxruntime-fp32"
    assert inputs(folder)[1] == {"name": "image_sizes", "dtype": "int64", "shape": ["batch", 2]}
    pytorch = build_model(config)
    sample_images = [cv2.imread(str(config.parent / f"{number}.png")) for number in range(len(SIZES))]
    total = 0
    with load(folder) as model:
        for sample_image, together in zip(sample_images, model(sample_images), strict=True):
            result = model(sample_image)
            np.testing.assert_array_equal(together.boxes, result.boxes)
            tensor = torch.from_numpy(sample_image[:, :, ::-1].copy()).permute(2, 0, 1) / 255  # no padding at all
            with torch.no_grad():
                (expected,) = pytorch([tensor])
            np.testing.assert_array_equal(result.labels, expected["labels"])
            np.testing.assert_allclose(result.boxes, expected["boxes"], atol=0.05)
            np.testing.assert_allclose(result.scores, expected["scores"], atol=5e-4)
            total += len(result.labels)
        with pytest.raises(InputError, match="expected .height, width. from 1 to"):
            model.runner.run(
                {"images": np.zeros((1, 3, 128, 160), np.float32), "image_sizes": np.array([[128, 161]], np.int64)}
            )
    assert total > 10


@pytest.mark.slow
@pytest.mark.parametrize("level", ["decoded", "raw"])
def test_the_levels_before_the_last(config: Path, deploy: Tool, level: str) -> None:
    folder = deployed(config, deploy, "--output-level", level)
    sample_image = cv2.imread(str(config.parent / "0.png"))
    with load(folder) as model:
        with pytest.raises(InputError, match='"images": array, "image_sizes": numpy.array'):
            model(sample_image)
        array, geometries = model.preprocess([sample_image])
        sizes = np.array([place.resized_size for place in geometries])
        assert model.runner.run({"images": array, "image_sizes": sizes})


@pytest.mark.slow
def test_a_deployment_is_held_against_the_model_that_is_fed_alike(config: Path, deploy: Tool, evaluate: Tool) -> None:
    with_sizes, without = deployed(config, deploy), deployed_without(config, deploy)
    assert [spec["name"] for spec in inputs(without)] == ["images"]
    file = config.parent / "found.json"
    arguments = [str(config), "--work-dir", str(config.parent / "work"), "--json", str(file), "--batch-size", "2"]
    run = evaluate([*arguments, "--deployment", str(with_sizes), str(without)])
    assert run.code == 0, run.err
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert [(row["name"], row["verdict"]) for row in rows] == [
        ("pytorch", "reference"),
        ("onnxruntime-fp32", "passed"),
        ("pytorch, 128x160", "reference"),
        ("onnxruntime-fp32-noimagesizes", "passed"),
    ]
    assert all(np.isfinite(row["figures"]["coco/box_AP"]) for row in rows)


def deployed_without(config: Path, deploy: Tool) -> Path:
    """The same with the padding as a part of the image; a rewriter that must act cannot then."""
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace('"zoo.contract.valid_regions.valid_regions"', ""), encoding="utf-8")
    folder = deployed(config, deploy, "--no-image-sizes")
    assert folder.name == "onnxruntime-fp32-noimagesizes"
    return folder


@pytest.mark.slow
def test_an_older_deployment_of_another_input_is_made_again(config: Path, deploy: Tool, evaluate: Tool) -> None:
    """The config's own default changed, and so what lies at its place is not what it asks for."""
    text = config.read_text(encoding="utf-8")
    folder = deployed(config, deploy)
    others = text.replace(", image_sizes=True", "").replace('"zoo.contract.valid_regions.valid_regions"', "")
    config.write_text(others, encoding="utf-8")
    run = evaluate([str(config), "--work-dir", str(config.parent / "work"), "--limit", "2"])
    assert run.code == 0, run.err
    assert [spec["name"] for spec in inputs(folder)] == ["images"]


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ('preprocess = dict(size=(128, 160), resize="stretch")', 'image_sizes with preprocess resize "stretch"'),
        ('export["inputs"]["image_sizes"] = "yes"', "export.inputs.image_sizes: expected True or False, got 'yes'"),
        ('export["inputs"]["image_size"] = True', 'unknown key export.inputs."image_size"; nearest: "image_sizes"'),
    ],
)
def test_it_is_refused_where_there_is_nothing_to_say(config: Path, deploy: Tool, section: str, words: str) -> None:
    config.write_text(config.read_text(encoding="utf-8") + section + "\n", encoding="utf-8")
    refused(deploy([str(config), "--work-dir", str(config.parent / "work")]), words)


def test_segmentation_has_no_such_input(tiny: Tiny, deploy: Tool) -> None:
    refused(deploy(tiny.with_images("--image-sizes")), "image_sizes with task semantic-segmentation")
    tiny.write('export["inputs"]["image_sizes"] = True')
    refused(deploy(tiny.with_images()), "leave out --image-sizes and export.inputs.image_sizes")
    assert deploy(tiny.with_images("--no-image-sizes")).code == 0


def test_evaluation_refuses_it_before_the_first_image(voc: Tiny, evaluate: Tool) -> None:
    voc.config.write_text(
        voc.config.read_text(encoding="utf-8") + 'export["inputs"]["image_sizes"] = True\n', encoding="utf-8"
    )
    refused(evaluate(voc.arguments("--backend", "pytorch")), "image_sizes with task semantic-segmentation")


SHIPPED = ("faster-rcnn", "mask-rcnn", "keypoint-rcnn", "retinanet", "fcos", "ssdlite")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "exporter"),
    [*((name, "torchscript") for name in SHIPPED), *((name, "dynamo") for name in ("faster-rcnn", "retinanet"))],
)
def test_a_shipped_detector(deploy: Tool, tmp_path: Path, name: str, exporter: str) -> None:
    """Its own weights, on images of several shapes."""
    images = [str(path) for path in SAMPLE_IMAGES[::8]]
    config, file = ROOT / "configs" / "detection" / f"{name}_r18-fpn_digits.py", tmp_path / "deployed.json"
    arguments = [str(config), "--image-sizes", "--exporter", exporter, "--work-dir", str(tmp_path), "--json", str(file)]
    run = deploy([*arguments, "--image", *images])
    assert (run.code, run.err) == (0, "")
    found = json.loads(file.read_text(encoding="utf-8"))
    assert "imagesizes" in Path(found["deployment"]).name
    assert found["parity"]["verdict"] == "passed"
    compared = [case["images"][0] for case in found["parity"]["cases"] if case["kind"] == "pipeline"]
    assert compared[: len(images)] == [Path(path).name for path in images]
    assert found["parity"]["summary"]["pipeline"]["matched"] > 20
    sample_images = [cv2.imread(path) for path in images]
    with load(found["deployment"]) as model:
        for sample_image, together in zip(sample_images, model(sample_images), strict=True):
            np.testing.assert_allclose(together.boxes, model(sample_image).boxes, atol=1e-2)


def refused(run: Run, words: str) -> None:
    """One line that says so, and exit code 2."""
    assert run.code == 2
    assert words in run.err
    assert run.err.count("\n") == 1
