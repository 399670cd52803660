"""Rotated boxes from an image to the metric: deployed, checked, aligned, evaluated, predicted, trained."""

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import onnx
import pytest
from safetensors.torch import save_file

from backends import load
from pipeline import align
from pipeline.deploying import make_deployment
from pipeline.evaluating import evaluate
from pipeline.job.deploy_target import deploy_target
from pipeline.job.job import plan_job
from tests.openvino_kernels import skip_where_capped
from tests.rewriters.small_rotated_fcos import small_rotated_fcos
from tests.tools.conftest import in_this_process
from zoo.config import load_config
from zoo.datasets import RotatedDigits
from zoo.errors import GateError, InputError
from zoo.geometry.rotated_boxes import ROTATED, is_in_convention
from zoo.manifest import Manifest
from zoo.models.detection.rotated_fcos import RotatedFCOS
from zoo.target import AxisRange
from zoo.tasks.rotated_detection import RotatedDetectionResult
from zoo.tasks.rotated_detection.dota import read_dota

ROOT = Path(__file__).parents[3]
CONFIG = """
task = dict(
    type="RotatedDetection", angle="{angle}", classes=[dict(name=str(d), category_id=d + 1) for d in range(10)]
)
model = dict(
    type="RotatedFCOS",
    num_classes=10,
    backbone=dict(base_channels=8, out_channels=16, first_stage=2),
    limits=(32, 64, 128),
    head_convs=1,
    head_norm_groups=4,
    score_thresh=0.5,
    nms_thresh=0.3,
    topk_candidates=60,
    detections_per_img=40,
)
checkpoint = "small.safetensors"
preprocess = dict(size=(64, 96))
dataset = dict(type="RotatedDigits", split="val")
evaluator = dict(type="DotaMAP")
export = dict(
    exporter="torchscript",
    opset=20,
    inputs=dict(batch=(1, 2, 4)),
    output_level="final",
    rewriters=["zoo.RotatedFCOS.postprocess_detections"],
)
train = dict(iterations=3, batch_size=2, num_scenes=2, scale=(0.8, 1.2), optimizer=dict(type="AdamW", lr=1e-3))
"""
SIDES = {"batch": AxisRange(1, 2, 3), "height": AxisRange(64, 64, 160), "width": AxisRange(64, 96, 160)}


def written(folder: Path, angle: str = "le90") -> Path:
    """The config and its weights, random and calibrated, in a folder."""
    path = folder / "small.py"
    path.write_text(CONFIG.format(angle=angle), encoding="utf-8")
    save_file(small_rotated_fcos(num_classes=10).state_dict(), folder / "small.safetensors")
    return path


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two of the turned digits as small files."""
    folder, dataset = tmp_path_factory.mktemp("images"), RotatedDigits()
    paths = [folder / f"{index}.png" for index in (2, 5)]
    for path, index in zip(paths, (2, 5), strict=True):
        cv2.imwrite(str(path), cv2.resize(dataset[index]["image"], (124, 92), interpolation=cv2.INTER_AREA))
    return paths


def made(path: Path, images: list[Path], work_dir: Path, axes: Any = None, **target: Any) -> Any:
    config = load_config(path)
    return make_deployment(plan_job(config, deploy_target(config, axes or {}, **target), images, work_dir))


@pytest.fixture(scope="module")
def deployed(images: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """By torchscript, with a batch axis and one size."""
    folder = tmp_path_factory.mktemp("deployed")
    return made(written(folder), images, folder)


def test_it_is_proved(deployed: Any) -> None:
    assert deployed.record.passed
    assert deployed.record.summary("graph").matched > 10
    assert deployed.record.summary("pipeline").matched > 3
    manifest = Manifest.read(deployed.place)
    assert manifest.task == "rotated-detection"
    assert "zoo.RotatedFCOS.postprocess_detections" in {entry["name"] for entry in manifest.rewriters}


def test_a_call_gives_boxes_of_the_image_in_the_convention(deployed: Any, images: list[Path]) -> None:
    pixels = [cv2.imread(str(path)) for path in images]
    with load(deployed.place, check=True) as model:
        results = model(pixels)
        alone = model(pixels[0])
    assert all(isinstance(result, RotatedDetectionResult) for result in results)
    assert len(results[0]) > 0
    assert is_in_convention(results[0].boxes, "le90").all()
    assert np.diag(ROTATED.errors(alone.boxes, results[0].boxes)["boxes"]).max() < 1e-3


def test_predict_writes_json_dotas_lines_and_a_drawing(
    deployed: Any, images: list[Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    predict = in_this_process("predict", capsys)
    assert predict([str(deployed.place), str(images[0]), "--out", str(tmp_path / "out"), "--draw"]).code == 0
    objects = json.loads((tmp_path / "out" / "2.json").read_text(encoding="utf-8"))
    lines = list(read_dota((tmp_path / "out" / "2.txt").read_text(encoding="utf-8")))
    assert len(lines) == len(objects) > 0
    assert all(len(entry["box"]) == 5 for entry in objects)
    drawn = cv2.imread(str(tmp_path / "out" / "2_drawn.png"))
    assert (drawn != cv2.imread(str(images[0]))).any()


def test_evaluate_gives_the_same_figure(deployed: Any, images: list[Path], tmp_path: Path) -> None:
    path = written(tmp_path)
    rows = evaluate(path, deployments=[deployed.place], work_dir=tmp_path, limit=6).rows
    assert [row.verdict for row in rows] == ["reference", "passed"]
    assert {*rows[0].figures} == {"dota/mAP"}


def test_what_it_finds_is_right_as_a_truth_in_dotas_format(
    deployed: Any, images: list[Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Of random weights no figure says anything, but what they find may be the truth: PyTorch finds it, too."""
    out = tmp_path / "labelTxt"
    predict = in_this_process("predict", capsys)
    assert predict([str(deployed.place), *map(str, images), "--out", str(out)]).code == 0
    path = written(tmp_path)
    dataset = f'dataset = dict(type="DotaDetection", images="{images[0].parent}", annotations="{out}")'
    text = path.read_text(encoding="utf-8").replace('dataset = dict(type="RotatedDigits", split="val")', dataset)
    path.write_text(text, encoding="utf-8")
    rows = evaluate(path, deployments=[deployed.place], work_dir=tmp_path).rows
    assert [row.figures["dota/mAP"] for row in rows] == pytest.approx([100, 100])
    assert [row.verdict for row in rows] == ["reference", "passed"]


@pytest.mark.slow
def test_align_finds_no_module_that_differs(deployed: Any, tmp_path: Path) -> None:
    aligned = align(written(tmp_path), deployment=deployed.place)
    assert aligned.first_name is None
    assert "head" in {module.split(".")[0] for pair in aligned.pairs for module in pair.modules}


@pytest.mark.slow
def test_an_angle_that_is_off_is_refused(images: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By 2 % of itself."""
    import torch

    from zoo.models.detection.rotated_fcos.levels import RotatedFCOSFinal

    tensors = RotatedFCOSFinal.tensors

    def turned(self: Any, detections: Any) -> Any:
        num_dets, boxes, scores, labels = tensors(self, detections)
        step = 0.02 * torch.onnx.is_in_onnx_export()
        return num_dets, torch.cat((boxes[..., :4], boxes[..., 4:] * (1 - step)), dim=-1), scores, labels

    monkeypatch.setattr(RotatedFCOSFinal, "tensors", turned)
    with pytest.raises(GateError, match="px and .* of score away"):
        made(written(tmp_path), images, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("exporter", "backend", "angle", "level"),
    [
        ("dynamo", "onnxruntime", "oc", "final"),
        ("torchscript", "openvino", "le135", "final"),
        ("dynamo", "openvino", "le90", "final"),
        ("dynamo", "onnxruntime", "le90", "decoded"),
        ("torchscript", "onnxruntime", "le90", "raw"),
    ],
)
def test_every_exporter_backend_level_and_convention(
    exporter: str, backend: str, angle: str, level: str, images: list[Path], tmp_path: Path
) -> None:
    """At several sizes and batches."""
    if backend == "openvino":
        pytest.importorskip("openvino", reason="openvino is not installed: pip install openvino")
        skip_where_capped()
    done = made(written(tmp_path, angle), images, tmp_path, SIDES, exporter=exporter, backend=backend, level=level)
    assert done.record.passed
    assert done.record.summary("graph").matched > 10
    shapes = {case.shape[-2:] for case in done.record.cases if case.kind == "graph"}
    assert len(shapes) > 1


@pytest.mark.slow
def test_an_engine_is_built_of_standard_operators(images: list[Path], tmp_path: Path) -> None:
    """Without a GPU it is not run; the same graph runs in ONNX Runtime."""
    pytest.importorskip("tensorrt_rtx", reason="tensorrt_rtx is not installed: pip install tensorrt-rtx")
    done = made(written(tmp_path), images, tmp_path, backend="tensorrt-rtx")
    assert done.record.summary("graph").matched > 10
    assert (done.place / "model.engine").is_file()
    operators = {node.op_type for node in onnx.load(done.place / "model.onnx").graph.node}
    assert not operators & {"NonZero", "NonMaxSuppression"}


@pytest.mark.slow
def test_a_recipe_trains_it(tmp_path: Path) -> None:
    from pipeline.training import Recipe, begin_run, train

    config = load_config(written(tmp_path))
    recipe = Recipe.from_config(config)
    model, run = train(config, recipe, tmp_path / "train", begin_run(config.path, recipe, amp=False))
    assert run.iterations == 3
    assert isinstance(model, RotatedFCOS)


def test_a_stretch_is_refused_before_the_export(images: list[Path], tmp_path: Path) -> None:
    path = written(tmp_path)
    text = path.read_text(encoding="utf-8").replace("size=(64, 96)", 'size=(64, 96), resize="stretch"')
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="makes parallelograms"):
        made(path, images, tmp_path)
