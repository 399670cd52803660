"""Writes what mmseg itself makes of the small models: its tensors' names and shapes, and a few logits.

    pip install --no-deps --target SITE mmsegmentation==1.2.2 mmcv-lite==2.1.0 mmpretrain==1.2.0 ftfy
    rm -r SITE/tests  # a package of that name, which would hide ours
    PYTHONPATH=.:SITE python tests/zoo/mmseg/make.py

mmcv's compiled operators, mmseg's tokenizer and mmpretrain's package files are not needed and are left out.
"""

import importlib.machinery
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import nn

from tests.rewriters.encoder_decoders import FAMILY
from tests.zoo.mmseg.formula import described, formula_images, formula_state, sample

NORM = {"type": "BN"}


class Empty(ModuleType):
    """A module that has anything asked for."""

    def __init__(self, name: str, path: str | None = None) -> None:
        super().__init__(name)
        self.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=path is not None)
        if path is not None:
            self.__path__ = [path]
        sys.modules[name] = self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_args, **_options: None


def mmseg_model(architecture: str) -> nn.Module:
    """mmseg's own model for a config of FAMILY."""
    from mmpretrain.models.backbones.convnext import ConvNeXt
    from mmseg.registry import MODELS

    head, backbone, options = FAMILY[architecture]
    backbone = dict(backbone)
    kind = backbone["type"]
    if kind == "ResNet":
        backbone |= {"norm_cfg": NORM, "stem_channels": backbone["base_channels"]}
        backbone["type"] = "ResNetV1c" if backbone.pop("deep_stem", False) else "ResNet"
    elif kind == "BiSeNetV2":
        backbone["bga_channels"] = backbone["detail_channels"][-1]
    elif kind == "MobileNetV3":
        backbone["norm_cfg"] = {**NORM, "eps": 1e-3}
    elif kind == "ConvNeXt":
        arch = {"depths": backbone.pop("depths"), "channels": backbone.pop("channels")}
        del backbone["type"]
        made = ConvNeXt(
            arch=arch, out_indices=[0, 1, 2, 3], layer_scale_init_value=1.0, gap_before_final_norm=False, **backbone
        )
        backbone = {"type": "ResNet", "depth": 18, "norm_cfg": NORM}  # replaced below
    auxiliary = options.get("auxiliary_head")
    if auxiliary is not None:
        auxiliary = [mmseg_head(h) for h in auxiliary] if isinstance(auxiliary, list) else mmseg_head(auxiliary)
    model = MODELS.build(
        {
            "type": "EncoderDecoder",
            "data_preprocessor": {
                "type": "mmseg.SegDataPreProcessor",
                "mean": [123.675, 116.28, 103.53],
                "std": [58.395, 57.12, 57.375],
            },
            "backbone": backbone,
            "decode_head": mmseg_head(head),
            "auxiliary_head": auxiliary,
            "train_cfg": {},
            "test_cfg": {"mode": "whole"},
        }
    )
    if kind == "ConvNeXt":
        model.backbone = made
    return model.eval()


def mmseg_head(head: dict[str, Any]) -> dict[str, Any]:
    head = {"norm_cfg": NORM, **head}
    weight = head.pop("loss_weight", 1.0)
    head["loss_decode"] = {"type": "CrossEntropyLoss", "use_sigmoid": False, "loss_weight": weight}
    if head["type"] == "FCNHead":
        head.setdefault("concat_input", False)
    if head["type"] == "LRASPPHead":
        head["input_transform"] = "multiple_select"
        head["norm_cfg"] = {**NORM, "eps": 1e-3}
        del head["pool_size"], head["pool_stride"]
    return head


def main() -> None:
    Empty("mmcv._ext")
    Empty("mmseg.utils.tokenizer")
    spec = importlib.util.find_spec("mmseg")
    assert spec is not None
    assert spec.origin is not None
    site = Path(spec.origin).parents[1] / "mmpretrain"
    for part in ("", ".models", ".models.backbones", ".models.utils"):
        module = Empty(f"mmpretrain{part}", str(site / part.replace(".", "/").lstrip("/")))
    from mmpretrain.models.utils.norm import GRN, build_norm_layer

    vars(module).update(GRN=GRN, build_norm_layer=build_norm_layer)
    import mmseg.models  # noqa: F401  # registers them

    images = formula_images()
    for architecture, (head, _, _) in FAMILY.items():
        model: Any = mmseg_model(architecture)
        if "pool_size" in head:  # fixed at 49 in mmseg, which takes large images
            model.decode_head.image_pool[0] = nn.AvgPool2d(head["pool_size"], head["pool_stride"])
        model.load_state_dict(formula_state(model.state_dict()))
        pixels = [255 * image for image in images]
        with torch.no_grad():
            inputs = model.data_preprocessor({"inputs": pixels}, training=False)["inputs"]
            logits = model.encode_decode(inputs, [{"img_shape": images.shape[2:]}] * len(images))
        lines = [" ".join(f"{value:.6f}" for value in sample(logits).tolist()), *described(model.state_dict())]
        Path(__file__).with_name(f"{architecture}.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
