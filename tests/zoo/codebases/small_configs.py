"""Small configs of mmsegmentation, as its users write them."""

from pathlib import Path
from typing import Any

NORM = {"type": "SyncBN", "requires_grad": True}
MEAN, STD = [123.675, 116.28, 103.53], [58.395, 57.12, 57.375]
PREPROCESSOR = {"type": "SegDataPreProcessor", "mean": MEAN, "std": STD, "bgr_to_rgb": True, "pad_val": 0}
LOSS = {"type": "CrossEntropyLoss", "use_sigmoid": False, "loss_weight": 1.0}
BACKBONE = {
    "type": "ResNetV1c",
    "depth": 18,
    "base_channels": 8,
    "stem_channels": 8,
    "num_stages": 4,
    "out_indices": (0, 1, 2, 3),
    "dilations": (1, 1, 2, 4),
    "strides": (1, 2, 1, 1),
    "norm_cfg": NORM,
    "norm_eval": False,
    "style": "pytorch",
    "contract_dilation": True,
}
HEAD = {
    "type": "FCNHead",
    "in_channels": 64,
    "in_index": 3,
    "channels": 8,
    "num_convs": 1,
    "concat_input": True,
    "dropout_ratio": 0.1,
    "num_classes": 3,
    "norm_cfg": NORM,
    "align_corners": False,
    "loss_decode": LOSS,
}
AUXILIARY = {**HEAD, "in_channels": 32, "in_index": 2, "concat_input": False}
MODEL = {
    "type": "EncoderDecoder",
    "data_preprocessor": PREPROCESSOR,
    "pretrained": "open-mmlab://resnet18_v1c",
    "backbone": BACKBONE,
    "decode_head": HEAD,
    "auxiliary_head": AUXILIARY,
    "train_cfg": {},
    "test_cfg": {"mode": "whole"},
}
PIPELINE = [
    {"type": "LoadImageFromFile"},
    {"type": "Resize", "scale": (128, 64), "keep_ratio": True},
    {"type": "LoadAnnotations"},
    {"type": "PackSegInputs"},
]
CLASSES = ("road", "sky", "car")


def config_content(
    model: dict[str, Any] = MODEL, pipeline: list[dict[str, Any]] = PIPELINE, **dataset: Any
) -> dict[str, Any]:
    """What a config and its bases assign."""
    dataset = {"type": "BaseSegDataset", "pipeline": pipeline, **dataset}
    return {"default_scope": "mmseg", "model": model, "test_dataloader": {"dataset": dataset}}


def write(folder: Path, content: dict[str, Any], name: str = "my_fcn.py") -> Path:
    """A config file."""
    path = folder / name
    path.write_text("".join(f"{key} = {value!r}\n" for key, value in content.items()))
    return path
