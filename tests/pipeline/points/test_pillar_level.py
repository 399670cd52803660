"""Level pillars, from a config to results: the host puts points into pillars, and the proof is that of level final."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

from backends import load
from backends.pillar_runner import PillarRunner
from pipeline import align, deploy, evaluate
from pipeline.parity.errors import ParityMissedError
from tests.rewriters.small_pillars import find_things
from tests.tools.conftest import in_this_process
from zoo import build_model
from zoo.config import load_config, read_config
from zoo.datasets.streets.scene import make_scene
from zoo.errors import InputError

pytestmark = pytest.mark.slow  # two deploys

CONFIGS_3D = Path(__file__).resolve().parents[3] / "configs" / "detection3d"
TINY = """_base_ = ["{base}"]
model = dict(pillar_size=1.28, pillar_channels=8, channels=(8, 8), depths=(1, 1), strides=(1, 2), up_channels=(8, 8))
model.update(score_thresh=0.5, topk_candidates=40, detections_per_img=20)
model.update(point_range=(10.24, -20.48, -3.0, 40.96, 20.48, 1.0))
dataset = dict(count=4)
export = dict(exporter="{exporter}", inputs=dict(batch=(1, 2, 2), count=(1, 4096, 20000)), output_level="pillars")
{more}
"""
CONFIGS = (("pointpillars_streets", "torchscript"), ("centerpoint-pillars_streets", "dynamo"))


def written(folder: Path, base: str, exporter: str, more: str = "") -> tuple[Path, Path]:
    """A config and its checkpoint."""
    config = folder / f"tiny-{base}.py"
    config.write_text(TINY.format(base=CONFIGS_3D / f"{base}.py", exporter=exporter, more=more), encoding="utf-8")
    torch.manual_seed(0)
    clouds = [torch.from_numpy(make_scene("train", number).points) for number in range(2)]
    model = find_things(build_model(read_config(config), weights=False), clouds)
    checkpoint = folder / "tiny.pth"
    torch.save(model.state_dict(), checkpoint)
    return config, checkpoint


@pytest.fixture(scope="module", params=CONFIGS, ids="-".join)
def deployed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """The config, its checkpoint and the deployment."""
    folder = tmp_path_factory.mktemp("pillars")
    config, checkpoint = written(folder, *request.param)
    deploy(config, checkpoint=checkpoint, work_dir=folder / "work").close()
    return config, checkpoint, folder / "work" / "detection3d" / config.stem / "onnxruntime-fp32"


def test_the_deployment_is_proved_and_says_what_the_host_does(deployed: tuple[Path, Path, Path]) -> None:
    parity = json.loads((deployed[2] / "parity.json").read_text(encoding="utf-8"))
    assert parity["verdict"] == "passed"
    figures = {figure["name"]: figure for figure in parity["summary"]["graph"]["figures"]}
    assert figures["boxes"]["count"] > 50
    assert figures["boxes"]["max_error"] < 1e-4
    assert {constant["name"] for constant in parity["constants"]} >= {"side of a pillar", "lowest y", "NMS threshold"}
    manifest = json.loads((deployed[2] / "deployment.json").read_text(encoding="utf-8"))
    assert [spec["name"] for spec in manifest["inputs"]] == ["points", "num_points"]
    assert (manifest["output_level"], manifest["pillars"]["size"]) == ("final", [32, 24])
    graph = onnx.load(deployed[2] / "model.onnx")
    assert [value.name for value in graph.graph.input] == ["voxels", "counts", "cells"]
    assert {entry.key: entry.value for entry in graph.metadata_props}["zooport.output_level"] == "pillars"


def test_it_gives_the_boxes_of_the_unpatched_model(deployed: tuple[Path, Path, Path]) -> None:
    config, checkpoint, folder = deployed
    cloud = make_scene("gate", 0).points
    with torch.no_grad():
        (expected,) = build_model(read_config(config), checkpoint)([torch.from_numpy(cloud)])
    with load(folder, check=True) as model:
        assert isinstance(model.runner, PillarRunner)
        result, empty = model([cloud, cloud[:0]])
        assert model.runner.cut_points == 0
    assert len(expected["scores"])
    np.testing.assert_array_equal(result.labels, expected["labels"].numpy())
    np.testing.assert_allclose(result.boxes, expected["boxes"].numpy(), atol=1e-4)
    np.testing.assert_allclose(result.scores, expected["scores"].numpy(), atol=1e-5)
    with torch.no_grad():
        (nothing,) = build_model(read_config(config), checkpoint)([torch.zeros(0, 4)])
    assert len(empty.scores) == len(nothing["scores"])


def test_the_other_verbs_take_it(
    deployed: tuple[Path, Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, checkpoint, folder = deployed
    table = evaluate(config, deployments=[folder], checkpoint=checkpoint, work_dir=tmp_path)
    assert table.rows[0].figures == table.rows[1].figures
    np.save(tmp_path / "fuller.npy", np.repeat(make_scene("gate", 0).points[:9000], 2, axis=0))
    aligned = align(config, images=[tmp_path / "fuller.npy"], checkpoint=checkpoint, deployment=folder)
    assert aligned.first_name is None
    assert {"trunk.blocks.0.0.0"} <= {module for pair in aligned.pairs for module in pair.modules}
    np.save(tmp_path / "cloud.npy", make_scene("train", 3).points)
    predict = in_this_process("predict", capsys)
    assert predict([str(folder), str(tmp_path / "cloud.npy"), "--out", str(tmp_path / "out")]).code == 0
    assert (tmp_path / "out" / "cloud.txt").is_file()


def test_too_few_slots_are_a_missed_gate_and_say_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    config, checkpoint = written(
        tmp_path, "centerpoint-pillars_streets", "torchscript", "export.update(level_options=dict(slots=2))"
    )
    with pytest.raises(ParityMissedError):
        deploy(config, checkpoint=checkpoint, work_dir=tmp_path / "work")
    assert any("points were left out: this deployment keeps 2 points of a pillar" in line for line in caplog.messages)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("export.update(level_options=dict(slot=2))", 'export.level_options: unknown option "slot"; nearest: "slots"'),
        (
            "export.update(level_options=dict(slots=0))",
            "export.level_options: slots: got 0, expected a number of points",
        ),
        ("export.update(level_options=dict(pillars=(9, 2, 3)))", "export.level_options.pillars: axis range 9:2:3"),
        (
            'export.update(level_options=dict(slots=4), output_level="final")',
            "export.level_options with output level final: it has no options; leave them out, or set output_level='pil",
        ),
    ],
)
def test_options_that_do_not_fit(more: str, message: str, tmp_path: Path) -> None:
    config, checkpoint = written(tmp_path, "centerpoint-pillars_streets", "torchscript", more)
    with pytest.raises(InputError) as caught:
        deploy(config, checkpoint=checkpoint, work_dir=tmp_path / "work")
    assert message in str(caught.value)


def test_a_model_without_pillars_has_no_such_level(tmp_path: Path) -> None:
    config = read_config("configs/detection/fcos_r18-fpn_digits.py")
    config.export.output_level = "pillars"
    message = "^level pillars: FCOS has no such level for task detection; it has final, decoded, raw$"
    with pytest.raises(InputError, match=message):
        deploy(load_config(config), work_dir=tmp_path)
