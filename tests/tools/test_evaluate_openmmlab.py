"""A model that mmengine's Runner trained, with averaged weights: its own test and zooport's evaluation agree."""

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from tests.zoo.codebases.small_configs import HEAD, MODEL, write
from zooport.verbs import run_verb

pytestmark = [
    pytest.mark.slow,
    pytest.mark.openmmlab,
    pytest.mark.filterwarnings("ignore"),  # of the library's own training
]
pytest.importorskip("mmcv", reason="the extra mmseg is not installed")
pytest.importorskip("ftfy", reason="the extra mmseg is not installed")

NAMES = ("road", "sidewalk", "building")
SIZES = ((70, 110), (64, 128), (90, 100), (75, 128))
CITY = "aachen"


def draw(folder: Path, split: str, seed: int) -> None:
    """Images of three colours under noise, with labels that are ignored in places."""
    generator = np.random.default_rng(seed)
    images, maps = folder / "leftImg8bit" / split / CITY, folder / "gtFine" / split / CITY
    for place in (images, maps):
        place.mkdir(parents=True)
    for number, (height, width) in enumerate(SIZES):
        labels = cv2.resize(generator.integers(0, 3, (4, 5)).astype(np.uint8), (width, height), interpolation=0)
        colours = np.array([(200, 60, 60), (60, 200, 60), (60, 60, 200)])[labels]
        image = np.clip(colours + generator.normal(0, 60, colours.shape), 0, 255).astype(np.uint8)
        labels[:5] = 255
        cv2.imwrite(str(images / f"{number}_leftImg8bit.png"), image)
        cv2.imwrite(str(maps / f"{number}_gtFine_labelTrainIds.png"), labels)


def config_of(folder: Path, mode: dict[str, Any], *, corners: bool) -> dict[str, Any]:
    """As a person writes it, with training and test."""
    load, labels, pack = ({"type": kind} for kind in ("LoadImageFromFile", "LoadAnnotations", "PackSegInputs"))
    resize = {"type": "Resize", "scale": (128, 64), "keep_ratio": True}
    crop = {"type": "RandomCrop", "crop_size": (64, 64)}

    def loader(split: str, pipeline: list[dict[str, Any]], *, trains: bool) -> dict[str, Any]:
        prefix = {"img_path": f"leftImg8bit/{split}", "seg_map_path": f"gtFine/{split}"}
        dataset = {"type": "CityscapesDataset", "data_root": str(folder), "data_prefix": prefix, "pipeline": pipeline}
        return {
            "batch_size": 2 if trains else 1,
            "num_workers": 0,
            "sampler": {"type": "InfiniteSampler" if trains else "DefaultSampler", "shuffle": trains},
            "dataset": {**dataset, "metainfo": {"classes": NAMES}},
        }

    preprocessor = {**MODEL["data_preprocessor"], "size": (64, 64), "seg_pad_val": 255}
    head = {**HEAD, "align_corners": corners}
    changes = {"pretrained": None, "data_preprocessor": preprocessor, "decode_head": head, "test_cfg": mode}
    return {
        "default_scope": "mmseg",
        "model": {**MODEL, **changes},
        "train_dataloader": loader("train", [load, labels, resize, crop, pack], trains=True),
        "test_dataloader": loader("val", [load, resize, labels, pack], trains=False),
        "test_evaluator": {"type": "IoUMetric", "iou_metrics": ["mIoU"]},
        "test_cfg": {"type": "TestLoop"},
        "train_cfg": {"type": "IterBasedTrainLoop", "max_iters": 12},
        "optim_wrapper": {"type": "OptimWrapper", "optimizer": {"type": "Adam", "lr": 0.01}},
        "custom_hooks": [{"type": "EMAHook", "momentum": 0.3}],
        "default_hooks": {"checkpoint": {"type": "CheckpointHook", "interval": 12, "by_epoch": False}},
        "randomness": {"seed": 0},
    }


@pytest.mark.parametrize(
    ("mode", "corners"),
    [({"mode": "whole"}, False), ({"mode": "slide", "crop_size": (48, 48), "stride": (32, 32)}, True)],
    ids=["whole", "slide"],
)
def test_the_metric_of_the_runner(
    mode: dict[str, Any], corners: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mmengine.config import Config
    from mmengine.registry import DefaultScope
    from mmengine.runner import Runner

    from zoo.codebases.mmcv_ext import stand_in

    stand_in.provide()
    import mmseg.datasets
    import mmseg.engine
    import mmseg.evaluation
    import mmseg.models  # noqa: F401

    monkeypatch.chdir(tmp_path)
    for seed, split in enumerate(("train", "val")):
        draw(tmp_path / "city", split, seed)
    path = write(tmp_path, config_of(tmp_path / "city", mode, corners=corners), "mine.py")
    config = Config.fromfile(str(path))
    config.work_dir = str(tmp_path / "trained")
    with DefaultScope.overwrite_default_scope("mmseg"):  # which a Runner sets for good, and for all tests behind it
        Runner.from_cfg(config).train()
        config.load_from = str(tmp_path / "trained" / "iter_12.pth")
        with monkeypatch.context() as loading:  # mmengine 0.10.7 loads its own checkpoints by pickle
            loading.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
            expected = Runner.from_cfg(config).test()["mIoU"]
    assert 20 < expected < 99

    images = sorted(map(str, (tmp_path / "city/leftImg8bit/val" / CITY).glob("*.png")))[:2]
    assert run_verb(["deploy", "mine.py", "--checkpoint", "trained/iter_12.pth", "--image", *images]) == 0
    deployment = "work_dirs/semantic-segmentation/mine/onnxruntime-fp32"
    arguments = ["--backend", "pytorch", "--deployment", deployment, "--json", "evaluation.json"]
    assert run_verb(["evaluate", "work_dirs/mine.py", *arguments]) == 0

    rows = json.loads(Path("evaluation.json").read_text())["rows"]
    for row in rows:
        figure = next(
            value for name, value in row["figures"].items() if name.endswith("mIoU") or "miou" in name.lower()
        )
        assert abs(figure - expected) < 0.1, row["name"]
