"""How each tool exports a row: zooport by either exporter, and the Python part of mmdeploy and of onedl-mmdeploy.

Of mmdeploy only `export` runs, with its rewriters, as its `torch2onnx` calls it: the content of its own deploy configs
for ONNX Runtime with a dynamic shape is `deploy_config`. Its compiled graph optimiser is left out.
"""

import sys
from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from mmdeploy_peer_case import GIVEN, Case, Given
from mmdeploy_peer_rows import HELPERS

from rewriters import export_onnx
from tests.small_mmdet import SIDES
from zoo.codebases.mmcv_ext import stand_in
from zoo.errors import ZooportError
from zoo.families import contract_module
from zoo.models.mmdet.mmdet_detector import data_sample
from zoo.target import AxisRange, Target

BACKEND = "onnxruntime"
OPSETS = (11, 16)
"""That of mmdeploy's deploy configs, and the first whose RoIAlign has mmcv's `aligned`."""
EXAMPLE = Given("example", 2, 0)
"""zooport's: it takes two or more images to see that the batch is dynamic."""
HEIGHT, WIDTH = (AxisRange(64, side, 160) for side in SIDES)


def by_zooport(case: Case, exporter: str, path: Path) -> str:
    """A file for batches 1 to 4, with a dynamic height and width; "" or why these are refused, and the file has not."""
    sizes = {"height": HEIGHT, "width": WIDTH}
    fixed = {name: AxisRange.fixed(side) for name, side in zip(sizes, SIDES, strict=True)}
    try:
        _export(case, exporter, sizes, path)
    except ZooportError as error:
        _export(case, exporter, fixed, path)
        return str(error)
    return ""


def _export(case: Case, exporter: str, sizes: Mapping[str, AxisRange], path: Path) -> None:
    target = Target({"batch": AxisRange(1, 2, 4), **sizes}, exporter=exporter, level=case.level)
    contract = contract_module(case.ours, case.task, case.level, {})
    specs = contract.outputs(case.task, case.level)
    example = {"images": case.images(EXAMPLE)}
    export_onnx(contract, target, path, example=example, output_specs=specs, other_sizes=False)


def provide(folder: Path, tool: str, *, detects: bool) -> str:
    """Make a peer and its part for one codebase importable, for this process: its version. Raises what imports raise.

    torch.onnx.export is by torchscript here, as onedl-mmdeploy sets it itself, and as it was when mmdeploy was written.
    """
    sys.path[:0] = [str(folder / tool), str(folder / HELPERS)]
    stand_in.provide()
    torch.onnx.export = partial(torch.onnx.export, dynamo=False)
    peer: Any = import_module("mmdeploy")
    utils: Any = import_module("mmdeploy.utils")
    codebase: Any = import_module("mmdeploy.codebase")
    codebase.import_codebase(utils.Codebase.MMDET if detects else utils.Codebase.MMSEG)
    import_module("mmdeploy.apis.onnx")
    return str(peer.__version__)


def by_mmdeploy(case: Case, opset: int, path: Path) -> str:
    """A file with a dynamic batch, height and width, from one image."""
    config: Any = import_module("mmengine.config")
    names = ["dets", "labels", "masks"][: 3 if _has_masks(case) else 2] if case.detects else ["output"]
    images = case.normalised(GIVEN[0])
    import_module("mmdeploy.apis.onnx").export(
        deepcopy(case.model),  # which keeps patches
        images,
        str(path.with_suffix("")),
        backend=BACKEND,
        input_metas={"data_samples": [_sample(case, images)], "mode": "predict"},
        context_info={"deploy_cfg": config.Config(deploy_config(case))},
        input_names=["input"],
        output_names=names,
        opset_version=opset,
        dynamic_axes=dynamic_axes(names),
        keep_initializers_as_inputs=False,
    )
    return ""


def deploy_config(case: Case) -> dict[str, Any]:
    """What mmdeploy's own deploy configs for ONNX Runtime say; segmentors give logits, which `with_argmax` says."""
    codebase: dict[str, Any] = {"type": "mmseg", "task": "Segmentation", "with_argmax": False}
    if case.detects:
        codebase = {"type": "mmdet", "task": "ObjectDetection", "model_type": "end2end"}
        codebase["post_processing"] = {
            "score_threshold": 0.05,
            "confidence_threshold": 0.005,
            "iou_threshold": 0.5,
            "max_output_boxes_per_class": 200,
            "pre_top_k": 5000,
            "keep_top_k": 100,
            "background_label_id": -1,
            "export_postprocess_mask": False,
        }
    return {"codebase_config": codebase, "backend_config": {"type": BACKEND}}


def dynamic_axes(outputs: Sequence[str]) -> Mapping[str, Mapping[int, str]]:
    """Of the input and of each output, as mmdeploy's deploy configs name them."""
    axes = {"dets": (0, 1), "labels": (0, 1), "masks": (0, 1, 2, 3), "output": (0, 2, 3)}
    names = ("batch", "num_dets", "height", "width")
    given = {"input": {0: "batch", 2: "height", 3: "width"}}
    return given | {output: {axis: names[axis] for axis in axes[output]} for output in outputs}


def _has_masks(case: Case) -> bool:
    return bool(getattr(case.ours, "mask_heads", None))


def _sample(case: Case, images: Any) -> Any:
    """The library's description of an image."""
    size = tuple(images.shape[2:])
    if case.detects:
        return data_sample(size, size)
    structures: Any = import_module("mmseg.structures")
    return structures.SegDataSample(metainfo={"ori_shape": size, "img_shape": size, "pad_shape": size})
