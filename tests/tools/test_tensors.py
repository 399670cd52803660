"""Any module through the tools: deployed by both exporters, loaded, predicted, evaluated, aligned."""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

from backends import load
from pipeline import align, deploy, evaluate
from pipeline.doctor.config_subject import load_config_subject
from zoo import Target
from zoo.config import config_target, load_config
from zoo.errors import GateError, InputError
from zoo.target import AxisRange
from zoo.tasks.tensors import TensorsResult
from zooport.entry import main

MODULE = '''
import torch.nn.functional as F
from torch import nn
from zoo.datasets import ImageFolder
from zoo.metrics import Metric


class Embedder(nn.Module):
    """An embedding of unit length [N, 32], a heatmap [N, 1, H / 4, W / 4], and more that may be kept."""

    def __init__(self, channels=16, size=32, **more):
        super().__init__()
        self.more = more
        self.stem = nn.Sequential(
            nn.Conv2d(3, channels, 3, 2, 1), nn.ReLU(), nn.Conv2d(channels, channels, 3, 2, 1), nn.ReLU()
        )
        self.embed = nn.Linear(channels, size)
        self.heat = nn.Conv2d(channels, 1, 1)

    def forward(self, images):
        features = self.stem(images)
        heat = self.heat(features)
        given = {"embedding": F.normalize(self.embed(features.mean(dim=(2, 3)))), "heatmap": heat.sigmoid()}
        if self.more.get("bad"):
            return {"embedding": given["embedding"], "places": (heat > 0).nonzero(), "heatmap": heat}
        if self.more:
            scores, places = heat.flatten(2).topk(5)
            above = heat > heat.mean(dim=(1, 2, 3), keepdim=True)
            given |= {"scores": scores[:, 0], "places": places[:, 0], "above": above}
            given |= {"again": given["heatmap"], "pixels": images, "half": heat.double()}
        return given


class Folder(ImageFolder):
    def _truth(self, index):
        return {"bright": bool(self.image_item(index)["image"].mean() > 128)}


class Warmth(Metric):
    """Points 0..100: the images whose heatmap is above its middle just where they are bright."""

    default_prefix = "warmth"
    main = "right"
    truth = ("bright",)

    def entry(self, item, result):
        return int((self.field(result, "heatmap").mean() > 0.5) == self.field(item, "bright"))

    def figures(self, entries):
        return {"right": 100 * sum(entries) / len(entries)}

    def resampled(self, per_image, counts):
        return 100 * (counts @ per_image) / counts.sum(axis=1)
'''
CONFIG = """
model = dict(type="embedder.Embedder")
task = dict(type="Tensors")
preprocess = dict(size=(64, 96))
checkpoint = "embedder.pth"
"""
EVERYTHING = """
_base_ = ["small.py"]
model = dict(more=True)
task = dict(rows=["scores", "places"])
"""
BAD = """
_base_ = ["small.py"]
model = dict(bad=True)
"""
JUDGED = """
_base_ = ["small.py"]
dataset = dict(type="embedder.Folder", root="images")
evaluator = dict(type="embedder.Warmth")
calibration_dataset = dict(type="embedder.Folder", root="training")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Configs, the module, its weights, and images."""
    folder = tmp_path_factory.mktemp("own")
    files = {"embedder": MODULE, "small": CONFIG, "everything": EVERYTHING, "bad": BAD, "judged": JUDGED}
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    chance = np.random.default_rng(0)
    for place in range(12):
        noise = chance.integers(0, 120, (8, 12, 3)) + 130 * (place % 2)
        image = cv2.resize(noise.astype(np.uint8), (90, 60), interpolation=cv2.INTER_CUBIC)
        path = folder / ("images" if place < 6 else "training") / f"{place}.png"
        path.parent.mkdir(exist_ok=True)
        cv2.imwrite(str(path), image)
    before = list(sys.path)
    load_config(folder / "small.py")
    torch.manual_seed(0)
    torch.save(sys.modules["embedder"].Embedder().state_dict(), folder / "embedder.pth")  # type: ignore[attr-defined]
    yield folder
    sys.path[:] = before
    del sys.modules["embedder"]


@pytest.fixture(scope="module")
def images(folder: Path) -> list[Path]:
    return [folder / "images" / "0.png", folder / "images" / "1.png"]


def target_of(config: Path, **changes: object) -> Target:
    """Quick to export, of any size up to 128."""
    target = config_target(load_config(config))
    sides = {"height": AxisRange(32, 64, 128), "width": AxisRange(32, 96, 128)}
    return target.with_(**{"axes": {**target.axes, **sides}, "exporter": "torchscript", **changes})


@pytest.fixture(scope="module")
def deployed(folder: Path, images: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    work_dir = tmp_path_factory.mktemp("work")
    with deploy(folder / "small.py", target_of(folder / "small.py"), images=images, work_dir=work_dir) as deployment:
        assert [str(spec) for spec in deployment.manifest.outputs] == [
            "embedding float32 [batch, 32]",
            "heatmap float32 [batch, 1, heatmap_2, heatmap_3]",
        ]
    (manifest,) = work_dir.rglob("deployment.json")
    return manifest.parent


class TestDeployed:
    def test_names_and_axes_are_learned_and_proved(self, deployed: Path) -> None:
        manifest = json.loads((deployed / "deployment.json").read_text(encoding="utf-8"))
        assert manifest["task_options"] == {"keep": ["embedding", "heatmap"]}
        parity = json.loads((deployed / "parity.json").read_text(encoding="utf-8"))
        assert parity["verdict"] == "passed"
        assert [figure["name"] for figure in parity["summary"]["graph"]["figures"]] == ["embedding", "heatmap"]
        assert len({tuple(case["shape"][2:]) for case in parity["cases"] if case["kind"] == "graph"}) == 2
        assert {one["part"]: one["count"] > 0 for one in parity["exercised"]} == {"embedding": True, "heatmap": True}

    def test_results_are_the_modules_own(self, deployed: Path, folder: Path, images: list[Path]) -> None:
        with load(deployed, check=True) as model:
            result = model(cv2.imread(str(images[0])))
            assert isinstance(result, TensorsResult)
            tensor, _ = model.preprocess([cv2.imread(str(images[0]))])
        module = sys.modules["embedder"].Embedder()  # type: ignore[attr-defined]
        module.load_state_dict(torch.load(folder / "embedder.pth"))
        with torch.inference_mode():
            expected = module(torch.from_numpy(tensor))
        for name in ("embedding", "heatmap"):
            np.testing.assert_allclose(result[name], expected[name][0].numpy(), atol=1e-5)

    def test_the_report_has_the_outputs_and_their_errors(self, deployed: Path) -> None:
        report = (deployed / "report.html").read_text(encoding="utf-8")
        for words in ("Differences", "of the output&#39;s range", "embedding [32]: ", "outputs that vary"):
            assert words in report

    def test_predict_saves_the_arrays(self, deployed: Path, images: list[Path], tmp_path: Path) -> None:
        out = tmp_path / "out"
        assert main(["predict", str(deployed), str(images[0]), "--out", str(out), "--draw"]) == 0
        with np.load(out / "0.npz") as arrays, load(deployed) as model:
            assert TensorsResult(dict(arrays)) == model(cv2.imread(str(images[0])))

    def test_align_compares_its_outputs(self, deployed: Path, folder: Path, images: list[Path]) -> None:
        found = align(folder / "small.py", deployment=deployed, images=images)
        assert "stem.0" in {module for pair in found.pairs for module in pair.modules}
        assert found.outputs is not None
        assert not found.outputs.failures

    def test_evaluate_takes_a_metric_of_the_users(self, deployed: Path, folder: Path, tmp_path: Path) -> None:
        rows = evaluate(folder / "judged.py", deployments=[deployed], work_dir=tmp_path).rows
        pytorch, onnxruntime = (row.figures["warmth/right"] for row in rows)
        assert pytorch == onnxruntime
        assert 0 < pytorch <= 100


def test_a_deployment_with_other_outputs_is_not_evaluated(deployed: Path, folder: Path, tmp_path: Path) -> None:
    config = folder / "fewer.py"
    config.write_text('_base_ = ["judged.py"]\ntask = dict(keep=["heatmap"])\n', encoding="utf-8")
    with pytest.raises(InputError, match="its task has the options .*'embedding'.*, expected {'keep': .'heatmap'.}"):
        evaluate(config, deployments=[deployed], work_dir=tmp_path)


class TestEveryKindOfOutput:
    """Rows, integers, truth values, doubles, one tensor under two names, and the input itself."""

    @pytest.mark.parametrize("exporter", ["torchscript", pytest.param("dynamo", marks=pytest.mark.slow)])
    def test_by_each_exporter(self, folder: Path, images: list[Path], tmp_path: Path, exporter: str) -> None:
        config = folder / "everything.py"
        with deploy(config, target_of(config, exporter=exporter), images=images, work_dir=tmp_path) as deployment:
            manifest = deployment.manifest
            result = deployment(cv2.imread(str(images[0])))
            assert deployment.check().words
        assert manifest.task_options["rows"] == ["scores", "places"]
        assert {spec.name: spec.dtype for spec in manifest.outputs} == {
            **dict.fromkeys(("embedding", "heatmap", "scores", "again", "pixels"), "float32"),
            "places": "int64",
            "above": "bool",
            "half": "float64",
        }
        np.testing.assert_array_equal(result["again"], result["heatmap"])
        assert result["pixels"].shape == (3, 64, 96)

    @pytest.mark.slow
    def test_in_openvino(self, folder: Path, images: list[Path], tmp_path: Path) -> None:
        pytest.importorskip("openvino", reason="OpenVINO is an extra")
        config = folder / "everything.py"
        with deploy(config, target_of(config, backend="openvino"), images=images, work_dir=tmp_path) as deployment:
            assert deployment.manifest.parity["verdict"] == "passed"
            assert deployment.check().words


def test_a_bad_output_is_refused_before_the_export(folder: Path, images: list[Path], tmp_path: Path) -> None:
    command = ["deploy", str(folder / "bad.py"), "--image", *map(str, images), "--work-dir", str(tmp_path)]
    assert main(command) == 2
    assert not list(tmp_path.rglob("*.onnx"))


def test_a_size_that_the_module_does_not_take_is_refused_first(
    folder: Path, images: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["embedder"].Embedder, "size_divisor", 48, raising=False)  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="48"):
        deploy(folder / "small.py", target_of(folder / "small.py"), images=images, work_dir=tmp_path)


def test_one_that_is_not_kept_is_not_looked_at(folder: Path, images: list[Path], tmp_path: Path) -> None:
    config = folder / "kept.py"
    config.write_text('_base_ = ["bad.py"]\ntask = dict(keep=["heatmap"])\n', encoding="utf-8")
    with deploy(config, target_of(config), images=images, work_dir=tmp_path) as deployment:
        assert [spec.name for spec in deployment.manifest.outputs] == ["heatmap"]


def test_the_doctor_examines_its_outputs(folder: Path) -> None:
    config = folder / "examined.py"
    text = '_base_ = ["judged.py"]\nexport = dict(exporter="torchscript", inputs=dict(height=(32, 64, 128)))\n'
    config.write_text(text, encoding="utf-8")
    subject = load_config_subject(str(config))
    shapes = [list(output.shape) for output in subject.module(*subject.trials[0].feed.values())]
    assert shapes == [[2, 32], [2, 1, 16, 24]]


class TestBelowFp32:
    def test_without_a_metric_one_line_says_what_judges(self, folder: Path, images: list[Path], tmp_path: Path) -> None:
        target = replace(target_of(folder / "small.py"), precision="int8")
        with pytest.raises(
            InputError, match="of your own .task tensors has no metric., or give --allow-parity"
        ) as raised:
            deploy(folder / "small.py", target, images=images, work_dir=tmp_path)
        assert "\n" not in str(raised.value)
        assert not list(tmp_path.iterdir())

    @pytest.mark.slow
    @pytest.mark.parametrize("precision", ["fp16", "int8"])
    def test_the_users_metric_judges(self, folder: Path, images: list[Path], tmp_path: Path, precision: str) -> None:
        target = replace(target_of(folder / "judged.py"), precision=precision)
        with deploy(folder / "judged.py", target, images=images, work_dir=tmp_path) as deployment:
            assert deployment.manifest.parity["verdict"] == "passed"
            assert set(deployment(cv2.imread(str(images[0])))) == {"embedding", "heatmap"}
        (record,) = tmp_path.rglob("parity.json")
        assert json.loads(record.read_text(encoding="utf-8"))["metric"][0]["name"] == "warmth/right"


@pytest.mark.slow
def test_what_if_judges_by_the_distance_of_outputs(folder: Path, tmp_path: Path) -> None:
    config = folder / "tried.py"
    config.write_text('_base_ = ["judged.py"]\nexport = dict(exporter="torchscript")\n', encoding="utf-8")
    options = ["--precision", "fp16", "--judge", "matched", "--tolerance", "1", "--json", str(tmp_path / "tried.json")]
    assert main(["what-if", str(config), *options]) == 0
    content = json.loads((tmp_path / "tried.json").read_text(encoding="utf-8"))
    assert content["reference"] == 100
    assert 99 < content["trials"][0]["value"] <= 100


def test_a_graph_that_differs_is_refused(
    folder: Path, images: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from zoo.tasks.tensors.proof.contracts import TensorsFinal

    forward = TensorsFinal.forward

    def wrong(self: TensorsFinal, images: torch.Tensor) -> tuple[torch.Tensor, ...]:
        embedding, heatmap = forward(self, images)
        return embedding, heatmap + 0.01 * torch.onnx.is_in_onnx_export()

    monkeypatch.setattr(TensorsFinal, "forward", wrong)
    with pytest.raises(GateError, match="heatmap: largest error 0.5"):
        deploy(folder / "small.py", target_of(folder / "small.py"), images=images, work_dir=tmp_path)
