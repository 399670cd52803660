"""The shipped YOLOv5 at every output level and layout: deployed, proved, and what its files say and compute."""

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import onnx
import onnxruntime
import pytest

from backends import load
from pipeline import deploy
from pipeline.deploying import make_deployment
from pipeline.evaluating import evaluate
from pipeline.export.thresholds import OTHERS
from pipeline.job.deploy_target import deploy_target
from pipeline.job.job import plan_job
from pipeline.parity.plugin_candidates import final_detections
from rewriters.plugins import plugin_nodes
from zoo.comparison.decision_rule import DecisionRule
from zoo.config import ModelConfig, load_config, read_config
from zoo.errors import GateError, InputError
from zoo.families import layout_of
from zoo.manifest import Manifest
from zoo.models.detection.yolov5.family import DECODE_OUTPUTS as OUTPUTS
from zoo.target import AxisRange

ROOT = Path(__file__).parents[3]
CONFIG = ROOT / "configs/detection/yolov5n_digits.py"
SAMPLE_IMAGES = sorted((ROOT / "zoo/data/digits/val/images").glob("*.jpg"))
STATIC = {axis: AxisRange.fixed(size) for axis, size in (("batch", 1), ("height", 320), ("width", 320))}
DYNAMIC = {"batch": AxisRange(1, 3, 3), "height": AxisRange(256, 320, 640), "width": AxisRange(256, 320, 640)}


def changed(path: Path, section: dict[str, Any]) -> ModelConfig:
    """The config with other entries in its section `export`."""
    config = read_config(path)
    config.export.update(section)
    return load_config(config)


def made(tmp_path: Path, images: int = 2, section: dict[str, Any] | None = None, **target: Any) -> Any:
    config = changed(CONFIG, section or {})
    axes = {axis: target.pop(axis) for axis in ("batch", "height", "width") if axis in target}
    paths = SAMPLE_IMAGES[:: len(SAMPLE_IMAGES) // images][:images]
    return make_deployment(plan_job(config, deploy_target(config, axes, **target), paths, tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("axes", [STATIC, DYNAMIC], ids=["static", "dynamic"])
@pytest.mark.parametrize("exporter", ["dynamo", "torchscript"])
@pytest.mark.parametrize("level", ["final", "decoded", "raw", "plugin"])
def test_every_level(level: str, exporter: str, axes: dict[str, AxisRange], tmp_path: Path) -> None:
    deployed = made(tmp_path, level=level, exporter=exporter, **axes)
    assert deployed.record.passed
    shapes = {case.shape for case in deployed.record.cases if case.kind == "graph"}
    wanted = {(1, 3, 320, 320)} if axes is STATIC else {(1, 3, 320, 320), (3, 3, 320, 320), (1, 3, 416, 416)}
    assert shapes >= wanted
    assert deployed.record.summary("graph").matched > 0


@pytest.mark.slow
def test_evaluation_is_within_a_tenth_of_a_point(tmp_path: Path) -> None:
    evaluated = evaluate(CONFIG, ["onnxruntime"], work_dir=tmp_path)
    pytorch, onnxruntime = evaluated.rows
    assert pytorch.figures["coco/box_AP"] >= 60
    assert abs(pytorch.figures["coco/box_AP"] - onnxruntime.figures["coco/box_AP"]) <= 0.1


class TestPluginLevel:
    @pytest.mark.slow
    def test_the_decode_node_matches_the_models_detections_on_16_images(self, tmp_path: Path) -> None:
        deployed = made(tmp_path, images=16, level="plugin", exporter="torchscript", batch=AxisRange.fixed(1))
        manifest = deployed.deployment.manifest
        assert deployed.record.verdict == manifest.parity["verdict"] == "engine-not-run"
        found = deployed.record.summary("graph")
        images = {case.images[0].partition(" (")[0] for case in deployed.record.cases if case.kind == "graph"}
        assert len(images) == 16
        assert found.matched >= 100
        assert not found.borderline
        assert [spec.name for spec in manifest.outputs] == list(OUTPUTS)
        assert manifest.outputs[1].shape == (1, 5040, 4)
        assert "graph.yolo_decode_plugin" in {entry["name"] for entry in manifest.rewriters}
        model = onnx.load(deployed.place / "model.onnx")
        assert [node.op_type for node in plugin_nodes(model)] == ["YoloLayer_TRT"]
        assert "no engine has run this file" in (deployed.place / "report.html").read_text(encoding="utf-8")
        with pytest.raises(InputError, match=r"output level plugin holds nodes that TensorRT's plugins run"):
            load(deployed.place)

    @pytest.mark.slow
    def test_efficient_nms_gives_the_contract(self, tmp_path: Path) -> None:
        section = {"plugin": {"name": "efficient_nms_plugin"}}
        deployed = made(tmp_path, section=section, level="plugin", exporter="torchscript")
        assert deployed.record.verdict == "engine-not-run"
        assert deployed.record.summary("graph").matched > 50
        outputs = {spec.name: spec.shape for spec in deployed.deployment.manifest.outputs}
        assert outputs["boxes"] == ("batch", 100, 4)

    @pytest.mark.slow
    def test_its_standard_form_is_of_level_final_and_runs(self, tmp_path: Path) -> None:
        section = {"plugin": {"name": "efficient_nms_plugin", "form": "onnx"}}
        deployed = made(tmp_path, section=section, level="plugin", exporter="torchscript")
        assert deployed.record.verdict == "passed"
        assert deployed.record.summary("pipeline").matched > 10
        assert deployed.deployment.manifest.output_level == "final"
        with load(deployed.place) as model:
            assert len(model(cv2.imread(str(SAMPLE_IMAGES[0])))) > 0

    @pytest.mark.slow
    def test_the_oldest_opset(self, tmp_path: Path) -> None:
        section = {"plugin": {"name": "efficient_nms_plugin"}}
        deployed = made(tmp_path, section=section, level="plugin", exporter="torchscript", opset=17)
        assert deployed.record.summary("graph").matched > 50

    @pytest.mark.slow
    def test_wrong_attributes_are_not_published(self, tmp_path: Path) -> None:
        wrong = {"plugin": {"name": "yolo_decode_plugin", "max_stride": 31}}
        with pytest.raises(GateError, match="nothing was published"):
            made(tmp_path, section=wrong, level="plugin", exporter="torchscript", batch=AxisRange.fixed(1))
        assert not list(tmp_path.rglob("deployment.json"))

    def test_an_unknown_plugin(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match='unknown plugin "yolo_decode"; nearest: "yolo_decode_plugin"'):
            made(tmp_path, section={"plugin": {"name": "yolo_decode"}}, level="plugin")

    def test_a_model_without_one(self, tmp_path: Path) -> None:
        config = load_config(ROOT / "configs/detection/fcos_r18-fpn_digits.py")
        with pytest.raises(InputError, match="level plugin: FCOS has no plugin nodes; YOLOv5 has"):
            deploy(config, deploy_target(config, level="plugin"), work_dir=tmp_path)

    def test_other_outputs_than_the_decode_nodes_stay(self) -> None:
        outputs = {"boxes": np.zeros(3)}
        assert final_detections(outputs, DecisionRule()) is outputs


class TestUltralyticsLayout:
    @pytest.mark.slow
    def test_one_output_and_the_keys_that_ultralytics_reads(self, tmp_path: Path) -> None:
        deployed = made(tmp_path, layout="ultralytics", exporter="torchscript")
        assert deployed.record.verdict == "passed"
        assert deployed.place.name == "onnxruntime-fp32-torchscript-decoded-ultralytics-batch1"
        model = onnx.load(deployed.place / "model.onnx")
        (output,) = model.graph.output
        assert output.name == "output0"
        assert [dim.dim_value for dim in output.type.tensor_type.shape.dim] == [1, 14, 5040]
        props = {entry.key: entry.value for entry in model.metadata_props}
        assert (
            props
            | {
                "task": "detect",
                "stride": "32",
                "batch": "1",
                "channels": "3",
                "imgsz": "[256, 320]",
                "names": repr({digit: str(digit) for digit in range(10)}),
                "args": "{'batch': 1, 'dynamic': False, 'nms': False}",
            }
            == props
        )

    @pytest.mark.slow
    def test_ultralytics_loads_it_unchanged(self, tmp_path: Path) -> None:
        ultralytics = pytest.importorskip(
            "ultralytics", reason="ultralytics (AGPL, no dependency of ours) is not installed; pip install ultralytics"
        )
        deployed = made(tmp_path, layout="ultralytics")
        final = made(tmp_path).deployment
        theirs = ultralytics.YOLO(str(deployed.place / "model.onnx"), task="detect")
        for path in SAMPLE_IMAGES:
            image = cv2.imread(str(path))
            if image.shape[:2] != (256, 320):  # their letterbox is centred, ours lies at the top left
                continue
            boxes = theirs.predict(str(path), conf=0.05, iou=0.5, verbose=False)[0].boxes.xyxy.numpy()
            for box in final(image).boxes:
                assert np.abs(boxes - box).max(axis=1).min() < 0.05

    def test_another_level_is_refused(self) -> None:
        target = deploy_target(load_config(CONFIG), level="final", layout="ultralytics")
        with pytest.raises(InputError, match="layout ultralytics with output level final: .* --output-level decoded"):
            plan_job(CONFIG, target, [], "work_dirs")

    def test_a_dynamic_batch_of_a_fixed_size_is_refused(self) -> None:
        config = load_config(CONFIG)
        target = deploy_target(config, {"batch": None}, layout="ultralytics")
        with pytest.raises(InputError, match="Ultralytics' tools feed such a file images of 640x640; fix the batch"):
            plan_job(config, target, [], "work_dirs")
        every = deploy_target(config, {"batch": None, "height": None, "width": None}, layout="ultralytics")
        assert every.dynamic_axes == ("batch", "height", "width")

    def test_its_name_is_that_of_a_family_and_a_typo_has_the_nearest(self) -> None:
        with pytest.raises(InputError, match='unknown layout "ultralitics"; nearest: "ultralytics"'):
            deploy_target(load_config(CONFIG), layout="ultralitics")

    def test_the_outputs_of_a_deployment_show_it(self) -> None:
        assert layout_of(["output0"]) == "ultralytics"
        assert layout_of(["boxes", "scores"]) == "zooport"

    def test_a_model_without_it(self, tmp_path: Path) -> None:
        config = load_config(ROOT / "configs/detection/fcos_r18-fpn_digits.py")
        with pytest.raises(InputError, match="layout ultralytics: FCOS has no such layout; YOLOv5 has"):
            deploy(config, deploy_target(config, layout="ultralytics"), work_dir=tmp_path)


@pytest.fixture(scope="module")
def rewritten(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A deployment with graph rewriters; its thresholds are constants."""
    steps = ["fold_constants", "drop_identities", {"name": "set_metadata", "props": {"owner": "somebody"}}]
    folder = tmp_path_factory.mktemp("rewritten")
    place: Path = made(folder, section={"graph_rewriters": steps}, exporter="torchscript").place
    return place


class TestGraphRewritersOfAConfig:
    @pytest.mark.slow
    def test_they_act_before_the_proof_and_are_recorded(self, rewritten: Path) -> None:
        manifest = Manifest.read(rewritten)
        assert manifest.parity["verdict"] == "passed"
        recorded = {entry["name"]: entry["hits"] for entry in manifest.rewriters}
        assert recorded["graph.fold_constants"] > 0
        assert recorded["graph.set_metadata"] == 1
        props = {entry.key: entry.value for entry in onnx.load(rewritten / "model.onnx").metadata_props}
        assert props["owner"] == "somebody"
        assert props["zooport.name"] == "yolov5n_digits"

    def test_the_precision_is_not_their_business(self, tmp_path: Path) -> None:
        with pytest.raises(
            InputError, match="cast_precision changes the precision, and the target does not include it"
        ):
            made(tmp_path, section={"graph_rewriters": ["cast_precision"]})

    def test_an_unknown_one(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match='unknown graph rewriter "fold"; nearest: "fold_constants"'):
            made(tmp_path, section={"graph_rewriters": ["fold"]}, exporter="torchscript")


def test_a_size_that_the_stride_does_not_divide(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="height 250: YOLOv5 takes multiples of 32; give 224 or 256"):
        made(tmp_path, height=AxisRange.fixed(250))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    section = {"inputs": {"batch": (1, 2, 8), "thresholds": True}}
    deployed = made(tmp_path_factory.mktemp("thresholds"), section=section, exporter="torchscript")
    cases = [case for case in deployed.record.cases if case.kind == "graph"]
    assert deployed.record.passed
    added = len(deployed.record.cases) - len(cases) - 2  # images that the deploy made of the two
    # two images one by one, a batch of two, one of five, the self-test
    assert len(cases) == len(OTHERS) + 5 + added
    place: Path = deployed.place
    return place


class TestThresholdsAsInputs:
    @pytest.mark.slow
    def test_left_out_they_are_the_models_own(self, place: Path, rewritten: Path) -> None:
        assert Manifest.read(place).defaults == {"score_threshold": 0.05, "iou_threshold": 0.5}
        image = cv2.imread(str(SAMPLE_IMAGES[3]))
        with load(place) as model, load(rewritten) as plain:
            assert np.array_equal(model(image).scores, plain(image).scores)
            assert np.array_equal(model(image, score_threshold=0.05, iou_threshold=0.5).boxes, plain(image).boxes)
            with pytest.raises(InputError, match='unknown input "score_threshold"; it has no inputs that can be set'):
                plain(image, score_threshold=0.3)

    @pytest.mark.slow
    def test_higher_scores_alone_are_a_part_of_all(self, place: Path) -> None:
        images = [cv2.imread(str(path)) for path in SAMPLE_IMAGES[:3]]
        with load(place) as model:
            for all_of_them, best in zip(model(images), model(images, score_threshold=0.5), strict=True):
                assert 0 < len(best) < len(all_of_them)
                assert np.array_equal(best.scores, all_of_them.scores[all_of_them.scores > 0.5])
            assert len(model(images[0], iou_threshold=1.0)) > len(model(images[0]))

    @pytest.mark.slow
    def test_bare_onnxruntime_may_leave_them_out(self, place: Path) -> None:
        session = onnxruntime.InferenceSession(place / "model.onnx", providers=["CPUExecutionProvider"])
        assert [value.name for value in session.get_inputs()] == ["images"]
        assert {value.name for value in session.get_overridable_initializers()} == {"score_threshold", "iou_threshold"}

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("inputs", "message"),
        [
            ({"score": 0.3}, 'unknown input "score"; nearest: "score_threshold"'),
            ({"score_threshold": "high"}, "is 'high', expected a number"),
            ({"score_threshold": float("nan")}, "is nan, expected a number"),
        ],
    )
    def test_what_they_are_not(self, place: Path, inputs: dict[str, Any], message: str) -> None:
        with load(place) as model, pytest.raises(InputError, match=message):
            model(cv2.imread(str(SAMPLE_IMAGES[0])), **inputs)

    def test_nothing_is_decided_at_another_level(self, tmp_path: Path) -> None:
        section = {"inputs": {"batch": (1, 2, 8), "thresholds": True}}
        with pytest.raises(InputError, match="thresholds as inputs with output level decoded"):
            made(tmp_path, section=section, level="decoded")

    def test_a_model_without_them(self, tmp_path: Path) -> None:
        config = changed(ROOT / "configs/detection/fcos_r18-fpn_digits.py", {"inputs": {"thresholds": True}})
        with pytest.raises(InputError, match="export.inputs.thresholds: FCOS has no such inputs; YOLOv5 has"):
            deploy(config, work_dir=tmp_path)
