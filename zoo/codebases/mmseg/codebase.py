"""What zooport knows of mmsegmentation."""

from collections.abc import Mapping
from typing import Any, ClassVar

from zoo.codebases.codebase import Codebase, Translation, register_codebase
from zoo.codebases.config import CodebaseConfig, type_name
from zoo.codebases.mmseg.adapting import adapted, class_count, last_head
from zoo.codebases.mmseg.datasets import category_ids, chosen_kind, dataset_sections
from zoo.codebases.mmseg.part import UnknownPartError
from zoo.codebases.mmseg.segmentor import SLIDE, segmentor_of, windows_of
from zoo.codebases.preprocessing import preprocess_of
from zoo.codebases.values import SECTION, read

BATCH = (1, 2, 4)
BY_THE_LIBRARY = "mmsegmentation itself builds this model (extra mmseg): {}."
AXES = (512, 2048)  # the usual and the largest side of images that keep their size


@register_codebase
class Mmseg(Codebase):
    """Semantic segmentation by whole images, or by sliding windows."""

    scope: ClassVar[str] = "mmseg"
    preprocessors: ClassVar[frozenset[str]] = frozenset({"SegDataPreProcessor"})

    def translate(self, config: CodebaseConfig, preprocess: Mapping[str, Any] | None = None) -> Translation:
        """By zooport's own parts where all of them are known, else by the library, where it is installed."""
        preprocess = preprocess or preprocess_of(config)
        try:
            model, what, note = segmentor_of(config), "", None
        except UnknownPartError as unknown:
            model, what, note = adapted(config, unknown), " by mmsegmentation itself", BY_THE_LIBRARY.format(unknown)
        head, windows = last_head(config), windows_of(config.model, f"{config.path}: model")
        content: dict[str, Any] = {
            "model": model,
            "task": {"type": "SemanticSegmentation", **_resize(preprocess, head)},
            "preprocess": preprocess,
            "export": {"inputs": {"batch": BATCH, **_sides(windows, preprocess)}},
        }
        count = class_count(head)
        known = self.metainfo_names(kind) if (kind := chosen_kind(config)) else ()
        sections, missing = dataset_sections(config, count, known)
        notes = {key: text for key, text in (("model", note), ("export", missing)) if text is not None}
        backbone = read(config.model, "backbone", SECTION, f"{config.path}: model")
        names = [type_name(part.get("type")) for part in (head, backbone)]
        what = f"{' on '.join(names)}, {windows['mode']}{what}"
        return Translation(what, content | sections, count, category_ids(config, count, known), notes)


def _resize(preprocess: Mapping[str, Any], head: Mapping[str, Any]) -> dict[str, Any]:
    """mmseg resizes logits to the image, and not labels; nothing to say where the tensor has the image's size."""
    if preprocess["resize"] == "keep":
        return {}
    return {"resize": "logits", "align_corners": True} if head.get("align_corners") else {"resize": "logits"}


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
