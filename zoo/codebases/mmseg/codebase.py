"""What zooport knows of mmsegmentation."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

from zoo.codebases.codebase import Codebase, Translation, register_codebase
from zoo.codebases.config import CodebaseConfig, type_name
from zoo.codebases.mmseg.datasets import category_ids, dataset_sections
from zoo.codebases.mmseg.segmentor import SLIDE, segmentor_of
from zoo.codebases.preprocessing import preprocess_of

BATCH = (1, 2, 4)
AXES = (512, 2048)  # the usual and the largest side of images that keep their size


@register_codebase
class Mmseg(Codebase):
    """Semantic segmentation by whole images, or by sliding windows."""

    scope: ClassVar[str] = "mmseg"
    preprocessors: ClassVar[frozenset[str]] = frozenset({"SegDataPreProcessor"})

    def translate(self, config: CodebaseConfig) -> Translation:
        """By zooport's own parts."""
        model = segmentor_of(config)
        head, preprocess = model["decode_head"], preprocess_of(config)
        content: dict[str, Any] = {
            "model": model,
            "task": {"type": "SemanticSegmentation", **_resize(preprocess, align_corners=head["align_corners"])},
            "preprocess": preprocess,
            "export": {"inputs": {"batch": BATCH, **_sides(model["test_cfg"], preprocess)}},
        }
        sections, note = dataset_sections(config)
        notes = {} if note is None else {"export": note}
        count = head["num_classes"]
        what = f"{head['type']} on {model['backbone']['type']}, {model['test_cfg']['mode']}"
        return Translation(what, content | sections, count, category_ids(config, count), notes)

    def metainfo_names(self, dataset: str) -> tuple[str, ...]:
        """Of the library's registry of data sets."""
        try:
            import_module("mmseg.datasets")
            registry: Any = import_module("mmseg.registry").DATASETS
        except ImportError:
            return ()
        found = registry.get(type_name(dataset))
        return tuple(getattr(found, "METAINFO", {}).get("classes", ()))


def _resize(preprocess: Mapping[str, Any], *, align_corners: bool) -> dict[str, Any]:
    """mmseg resizes logits to the image, and not labels; nothing to say where the tensor has the image's size."""
    if preprocess["resize"] == "keep":
        return {}
    return {"resize": "logits", "align_corners": True} if align_corners else {"resize": "logits"}


def _sides(test: Mapping[str, Any], preprocess: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Height and width of a graph of windows, none smaller than one; nothing where the preprocessing says enough."""
    if test["mode"] != SLIDE or "size" in preprocess:
        return {}
    usual = AXES if preprocess["resize"] == "keep" else (preprocess["shortest_edge"], preprocess["longest_edge"])
    step = preprocess["size_divisor"]
    sides = zip(("height", "width"), test["crop_size"], strict=True)
    return {
        axis: tuple(_up(side, step) for side in (least, max(least, usual[0]), max(least, usual[1])))
        for axis, least in sides
    }


def _up(side: int, step: int) -> int:
    return -(-side // step) * step
