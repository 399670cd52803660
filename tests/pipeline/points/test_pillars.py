"""Tiny detectors on pillars with random weights, from a config to a proved deployment, on synthetic streets."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

from backends import load
from pipeline import align, deploy
from tests.pipeline.alignment.planted import perturb
from tests.rewriters.small_pillars import find_things
from zoo import build_model
from zoo.config import read_config
from zoo.datasets.streets.scene import make_scene

pytestmark = pytest.mark.slow  # two deploys

CONFIGS_3D = Path(__file__).resolve().parents[3] / "configs" / "detection3d"
CONFIGS = ("pointpillars_streets", "centerpoint-pillars_streets")
TINY = """_base_ = ["{base}"]
model = dict(pillar_size=1.28, pillar_channels=8, channels=(8, 8), depths=(1, 1), strides=(1, 2), up_channels=(8, 8))
model.update(score_thresh=0.5, topk_candidates=40, detections_per_img=20)
dataset = dict(count=4)
export = dict(exporter="torchscript", inputs=dict(batch=(1, 2, 4), count=(1, 4096, 20000)))
"""


@pytest.fixture(scope="module", params=CONFIGS)
def deployed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """The config, its checkpoint and the deployment."""
    folder = tmp_path_factory.mktemp("pillars")
    config = folder / f"tiny-{request.param}.py"
    config.write_text(TINY.format(base=CONFIGS_3D / f"{request.param}.py"), encoding="utf-8")
    torch.manual_seed(0)
    clouds = [torch.from_numpy(make_scene("train", number).points) for number in range(2)]
    model = find_things(build_model(read_config(config), weights=False), clouds)
    checkpoint = folder / "tiny.pth"
    torch.save(model.state_dict(), checkpoint)
    deploy(config, checkpoint=checkpoint, work_dir=folder / "work").close()
    return config, checkpoint, folder / "work" / "detection3d" / config.stem / "onnxruntime-fp32"


def test_the_deployment_is_proved(deployed: tuple[Path, Path, Path]) -> None:
    parity = json.loads((deployed[2] / "parity.json").read_text(encoding="utf-8"))
    assert parity["verdict"] == "passed"
    figures = {figure["name"]: figure for figure in parity["summary"]["graph"]["figures"]}
    assert figures["boxes"]["count"] > 100
    assert figures["boxes"]["max_error"] < 1e-4
    assert figures["scores"]["max_error"] < 1e-5


def test_it_gives_the_boxes_of_the_unpatched_model(deployed: tuple[Path, Path, Path]) -> None:
    config, checkpoint, folder = deployed
    cloud = make_scene("train", 7).points
    with torch.no_grad():
        (expected,) = build_model(read_config(config), checkpoint)([torch.from_numpy(cloud)])
    with load(folder, check=True) as model:
        result, empty = model([cloud[np.random.default_rng(1).permutation(len(cloud))], cloud[:0]])
    assert len(expected["scores"])
    np.testing.assert_array_equal(result.labels, expected["labels"].numpy())
    np.testing.assert_allclose(result.boxes, expected["boxes"].numpy(), atol=1e-4)
    np.testing.assert_allclose(result.scores, expected["scores"].numpy(), atol=1e-5)
    with torch.no_grad():
        (nothing,) = build_model(read_config(config), checkpoint)([torch.zeros(0, 4)])
    assert len(empty.scores) == len(nothing["scores"])


@pytest.mark.parametrize(("level", "exporter"), [("decoded", "dynamo"), ("raw", "torchscript")])
def test_the_other_levels_are_proved(
    level: str, exporter: str, deployed: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    config, checkpoint, _ = deployed
    at_level = tmp_path / "at_level.py"
    more = f'export = dict(output_level="{level}", exporter="{exporter}", rewriters=["zoo.PillarEncoder.forward"])'
    at_level.write_text(f'_base_ = ["{config}"]\ncard = None\n{more}\n', encoding="utf-8")
    with deploy(at_level, checkpoint=checkpoint, work_dir=tmp_path / "work") as deployment:
        assert deployment.level == level
        names = {spec.name for spec in deployment.manifest.outputs}
    (record,) = (tmp_path / "work").rglob("parity.json")
    parity = json.loads(record.read_text(encoding="utf-8"))
    assert parity["verdict"] == "passed"
    figures = {figure["name"]: figure for figure in parity["summary"]["graph"]["figures"]}
    assert figures.keys() == names
    assert all(figure["count"] > 0 for figure in figures.values())


def test_align_finds_no_module_that_differs(deployed: tuple[Path, Path, Path]) -> None:
    """The rows within the encoder are in another order, and padded: what it gives is compared."""
    config, checkpoint, folder = deployed
    aligned = align(config, checkpoint=checkpoint, deployment=folder)
    assert aligned.first_name is None
    compared = {module for pair in aligned.pairs for module in pair.modules}
    assert {"encoder", "encoder.linear", "encoder.norm", "trunk.blocks.0.0.0"} <= compared
    assert not aligned.absent


@pytest.mark.parametrize(("module", "op_type"), [("encoder.linear", "MatMul"), ("trunk.blocks.1.0.0", "Conv")])
def test_align_names_the_module_of_a_planted_fault(
    module: str, op_type: str, deployed: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    config, checkpoint, folder = deployed
    graph = onnx.load(folder / "model.onnx")
    perturb(graph, module, op_type)
    onnx.save(graph, tmp_path / "edited.onnx")
    aligned = align(config, checkpoint=checkpoint, onnx=tmp_path / "edited.onnx")
    assert aligned.first_name is not None
    assert module in aligned.first_name.split(" + ")
