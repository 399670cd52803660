"""One file for every scale, deployed, judged and used: within 0.01 dB of PyTorch at x2, x3 and x4, on odd sizes."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch

from backends import load
from backends.model import Model
from tests.tools.conftest import in_this_process
from tests.tools.tiny import Run
from zoo.build import build_model
from zoo.config import load_config
from zoo.datasets import PhotographCrops
from zoo.errors import InputError
from zoo.manifest import Manifest
from zoo.metrics import build_metric
from zoo.tasks.super_resolution import SuperResolutionResult

Tool = Callable[[Sequence[str]], Run]

CONFIGS = Path(__file__).parents[2] / "configs" / "restoration"
ANY_SCALE = CONFIGS / "srcnn_any-scale_photographs.py"
CROPS = PhotographCrops(3).root
GATE = 0.01  # dB


@pytest.fixture
def predict(capsys: pytest.CaptureFixture[str]) -> Tool:
    return in_this_process("predict", capsys)


def deployed(deploy: Tool, config: Path, exporter: str, work_dir: Path) -> Path:
    images = [str(CROPS / f"{name}.png") for name in ("coffee-0", "rocket-1")]
    run = deploy([str(config), "--exporter", exporter, "--work-dir", str(work_dir), "--image", *images])
    assert (run.code, run.err) == (0, "")
    return next(work_dir.rglob("deployment.json")).parent


@pytest.mark.slow
@pytest.mark.parametrize("exporter", ["torchscript", "dynamo"])
def test_one_file_for_all_scales(deploy: Tool, predict: Tool, exporter: str, tmp_path: Path) -> None:
    place = deployed(deploy, ANY_SCALE, exporter, tmp_path)
    manifest = Manifest.read(place)
    assert (manifest.classes, manifest.defaults) == ((), {"scale": 3})
    assert [str(spec) for spec in manifest.inputs] == ["images float32 [batch, 3, height, width]", "scale int64 [1]"]
    with load(place) as deployment:
        for scale in (2, 3, 4):
            crops = list(PhotographCrops(scale))
            # all crops by one exporter, which takes long enough
            ours, theirs = psnr_of_both(deployment, scale, crops if exporter == "dynamo" else crops[:1])
            assert ours == pytest.approx(theirs, abs=GATE)
        for wrong in (2.5, 0):
            with pytest.raises(InputError, match=f'input "scale" is {wrong}, expected an integer, 1 or more'):
                deployment(np.zeros((40, 41, 3), np.uint8), scale=wrong)
        five = deployment(np.zeros((40, 41, 3), np.uint8), scale=5)
    assert five.image.shape == (200, 205, 3)
    sample_image = str(CROPS / "coffee-0.png")
    arguments = [str(place), "--image", sample_image, "--out", str(tmp_path / "out")]
    for more, scale in (((), 3), (("--input", "scale=2"), 2)):
        assert predict([*arguments, *more]).code == 0
        assert cv2.imread(str(tmp_path / "out/coffee-0.png")).shape == (255 * scale, 299 * scale, 3)
    for wrong, message in (
        ("scale", "--input scale: expected NAME=NUMBER, for example scale=2"),
        ("scale=two", "--input scale=two: expected NAME=NUMBER"),
        ("scal=2", 'unknown input "scal"; nearest: "scale"'),
    ):
        run = predict([*arguments, "--input", wrong])
        assert (run.code, message in run.err) == (2, True), run.err


def psnr_of_both(deployment: Model, scale: int, items: Sequence[dict[str, Any]]) -> tuple[float, float]:
    """Of the deployment and of PyTorch."""
    config = load_config(ANY_SCALE)
    model, task = build_model(ANY_SCALE).eval(), config.task
    metrics = [build_metric(config.evaluator) for _ in range(2)]
    assert scale == 4 or any(side % 2 for side in items[0]["image"].shape[:2])
    for item in items:
        found = deployment(item["image"], scale=scale)
        tensor, geometries = deployment.preprocess([item["image"]])
        with torch.inference_mode():
            eager = model(torch.from_numpy(tensor), torch.tensor([scale])).numpy()
        (expected,) = task.results({"image": eager}, geometries)
        assert isinstance(found, SuperResolutionResult)
        assert found.image.shape == item["target"].shape
        for metric, result in zip(metrics, (found, expected), strict=True):
            metric.process([item], [result])
    ours, theirs = (metric.evaluate(len(items))["restoration/PSNR"] for metric in metrics)
    return ours, theirs


@pytest.mark.slow
@pytest.mark.parametrize("exporter", ["torchscript", "dynamo"])
def test_a_fixed_scale_is_deployed_and_evaluated(deploy: Tool, evaluate: Tool, exporter: str, tmp_path: Path) -> None:
    config = CONFIGS / "srcnn_x3_photographs.py"
    place = deployed(deploy, config, exporter, tmp_path)
    assert [str(spec) for spec in Manifest.read(place).inputs] == ["images float32 [batch, 3, height, width]"]
    run = evaluate([str(config), "--deployment", str(place), "--work-dir", str(tmp_path), "--limit", "2"])
    assert (run.code, run.err) == (0, "")
    assert "PSNR" in run.out
