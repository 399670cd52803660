"""A shipped Mask R-CNN asked for image_masks by a config of a few lines: deployed, proved, loaded, run by itself."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import cv2
import numpy as np
import onnx
import onnxruntime as ort
import pytest

from backends import load
from tests.tools.tiny import Run
from zoo.manifest import Manifest
from zoo.tasks.instance_segmentation import InstanceSegmentationResult
from zoo.tasks.instance_segmentation.mask_pasting import paste_masks

Tool = Callable[[Sequence[str]], Run]

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "configs" / "detection" / "mask-rcnn_r18-fpn_digits.py"
WEIGHTS = ROOT / "zoo" / "weights" / "mask-rcnn_r18-fpn_digits.safetensors"
IMAGES = sorted((ROOT / "zoo" / "data" / "digits" / "val" / "images").iterdir())[:4]


def run_by_itself(folder: Path, tensor: np.ndarray) -> dict[str, np.ndarray]:
    session = ort.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"images": tensor}), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("exporter", ["dynamo", "torchscript"])
def test_from_config_to_masks_of_the_image(deploy: Tool, tmp_path: Path, exporter: str) -> None:
    config = tmp_path / "pasting.py"
    config.write_text(f'_base_ = "{CONFIG}"\ntask = dict(image_masks=True)\ncheckpoint = "{WEIGHTS}"\n')
    sizes = ["--dynamic", "height", "width"] if exporter == "torchscript" else []
    run = deploy(
        [str(config), "--work-dir", str(tmp_path), "--exporter", exporter, *sizes, "--image", *map(str, IMAGES)]
    )
    assert (run.code, run.err) == (0, "")
    folder = next(tmp_path.rglob("deployment.json")).parent
    manifest = Manifest.read(folder)
    assert manifest.task_options == {"image_masks": True}
    assert "zoo.contract.image_masks.image_masks" in [rewriter["name"] for rewriter in manifest.rewriters]
    props = {prop.key: prop.value for prop in onnx.load(folder / "model.onnx").metadata_props}
    assert json.loads(props["zooport.task_options"]) == {"image_masks": True}
    record = json.loads((folder / "parity.json").read_text(encoding="utf-8"))
    assert record["verdict"] == "passed"
    figures = {figure["name"]: figure for figure in record["summary"]["graph"]["figures"]}
    assert figures["image_masks"]["count"] > 20
    with load(folder) as model:
        assert model.task.options == {"image_masks": True}
        images = [cv2.imread(str(path)) for path in IMAGES]
        results = model(images)
        tensor, _ = model.preprocess(images[:1])
    assert isinstance(results[0], InstanceSegmentationResult)
    outputs = run_by_itself(folder, tensor)
    count, pasted = int(outputs["num_dets"][0]), outputs["image_masks"]
    assert pasted.shape == (1, len(outputs["boxes"][0]), *tensor.shape[2:])
    assert pasted.dtype == np.uint8
    assert set(np.unique(pasted)) == {0, 1}
    assert not pasted[0, count:].any()
    assert pasted[0, :count].any(axis=(1, 2)).all()
    own = paste_masks(outputs["masks"][0, :count], outputs["boxes"][0, :count], pasted.shape[2:])
    assert (pasted[0, :count] != own).mean(axis=(1, 2)).max() <= 1e-3


@pytest.mark.slow
def test_without_the_option_the_deployment_is_what_it_was(deploy: Tool, tmp_path: Path) -> None:
    config = tmp_path / "plain.py"
    config.write_text(f'_base_ = "{CONFIG}"\ntask = dict(image_masks=False)\ncheckpoint = "{WEIGHTS}"\n')
    files = []
    for path in (config, CONFIG):
        work_dir = tmp_path / path.stem
        run = deploy(
            [
                str(path),
                "--work-dir",
                str(work_dir),
                "--exporter",
                "torchscript",
                "--image",
                *map(str, IMAGES[:2]),
            ]
        )
        assert (run.code, run.err) == (0, "")
        files.append(next(work_dir.rglob("model.onnx")))
    assert "task_options" not in (files[0].parent / "deployment.json").read_text(encoding="utf-8")
    first, second = (onnx.load(file) for file in files)
    for model in (first, second):
        del model.metadata_props[:]  # they hold the config's name
    assert first.SerializeToString() == second.SerializeToString()
