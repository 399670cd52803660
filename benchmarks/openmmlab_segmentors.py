"""mmsegmentation's models by both exporters, against the library itself: one small model of each architecture.

Each has random weights, batch norms with the statistics of images, and two modes: whole inference, and windows. A graph
with a dynamic batch runs in ONNX Runtime with 1 and with 3 images, which the export did not see, and its logits are
compared with those of the library in the same mode. An interrupted run continues where it was, with --state.

    python benchmarks/openmmlab_segmentors.py --page docs/measured/openmmlab_segmentors.md

Exit code 3 if an export fails, or a graph gives other logits.
"""

import argparse
import sys
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # before this folder, whose pipeline.py is not the package

import numpy as np
import onnx
import onnxruntime as ort
import torch
from measured import keep, machine, sources, state_of, write_page
from mmdeploy_peer_case import Given, deployed_segmentor, pixels
from mmdeploy_peer_rows import SEGMENTORS
from torch import Tensor, nn

from rewriters import export_onnx
from tests.small_mmdet import SIDES
from tests.small_mmseg_segmentors import OF_MMDET, OF_ONE, SLIDE, UNTRANSLATED, model
from tests.translated_segmentors import OF_ONE_SIZE, TRANSLATED, in_use
from tests.zoo.codebases.small_configs import BACKBONE, HEAD, NORM
from zoo.build import build_section
from zoo.contract.module_outputs import module_outputs
from zoo.errors import ZooportError
from zoo.families import contract_module
from zoo.random_weights import learn_statistics
from zoo.target import AxisRange, Target
from zoo.tasks import build_task

BISENET = {"type": "BiSeNetV2", "detail_channels": (4, 4, 8), "semantic_channels": (4, 4, 8, 8), "bga_channels": 8}
BISENET |= {"semantic_expansion_ratio": 2, "norm_cfg": NORM}
OF_MAPS = {**OF_ONE, "in_channels": [16] * 4, "in_index": [0, 1, 2, 3]}
TRANSFORMER = {"patch_size": 16, "embed_dims": 16, "num_layers": 4, "num_heads": 2, "out_indices": (0, 1, 2, 3)}
UPER = {**OF_MAPS, "type": "UPerHead", "pool_scales": (1, 2)}
PYRAMID = {"type": "Feature2Pyramid", "embed_dim": 16, "rescales": [4, 2, 1, 0.5]}
DPT = {**OF_MAPS, "type": "DPTHead", "embed_dims": 16, "post_process_channels": [8] * 4, "readout_type": "project"}
DPT |= {"input_transform": "multiple_select"}
VIT = {**TRANSFORMER, "type": "VisionTransformer", "img_size": SIDES, "output_cls_token": True}
BASIC: Mapping[str, Mapping[str, Any]] = {
    **{name.partition(",")[0]: section for name, section in SEGMENTORS.items()},
    "deeplabv3": model(BACKBONE, {**OF_ONE, "type": "ASPPHead", "dilations": (1, 2, 3)}),
    "dpt": model(VIT, DPT),
    **{kind.lower(): model({**TRANSFORMER, "type": kind}, UPER, neck=PYRAMID) for kind in ("BEiT", "MAE")},
    "bisenet-v2": model(BISENET, {**HEAD, "in_channels": 8, "in_index": 0, "concat_input": False}),
}
ROWS: Mapping[str, Mapping[str, Any]] = {**BASIC, **TRANSLATED, **UNTRANSLATED, **OF_MMDET}
OF_IMAGE_SIZE = ("beit", "mae")
"""Those whose backbone is made for one size, that of the image or of a window."""
EXPORTERS = ("dynamo", "torchscript")
MODES: Mapping[str, Mapping[str, Any]] = {"whole": {"mode": "whole"}, "slide": SLIDE}
BATCHES = (1, 3)
LEAST = 0.02  # deviation of the logits of a class, of their range
PIXELS = 4  # axes of the logits of pixels
CLEAR = 30  # by which masks of queries are larger than those of random weights
EQUAL, NOT_RUN = "equal", "not run"
NEAR = 1e-4  # of the range of the logits
WEAK = 0.2  # residual branches of bottlenecks, as in trained networks: else float32 itself is far from float64
PACKAGES = ("torch", "onnxruntime", "onnx", "mmsegmentation", "mmdet", "mmengine")
MADE_OF = ("rewriters", "zoo", "tests/small_mmdet", "tests/small_mmseg_segmentors.py", "tests/translated_segmentors.py")
INTRO = (
    f"Small models, one of an architecture, with random weights, at {SIDES[0]} x {SIDES[1]} pixels: exported with a "
    "dynamic batch, run in ONNX Runtime with 1 and 3 images, and compared with mmsegmentation's own inference in the "
    f"same mode; windows have {SLIDE['crop_size'][0]} x {SLIDE['crop_size'][1]} pixels. *Built by*: zooport's own "
    "parts, with the library's weights, or the library itself. Error: the largest of the logits, as a part of their "
    f"range; *equal* is below {NEAR:g}, with no label changed where the best logit exceeds the second by more than two "
    "such errors. Not here: ConvNeXt, whose backbone is a third library's, and LR-ASPP, whose pool is larger than "
    "these images; zooport's tests compare both with recorded logits of the library."
)


def main() -> int:
    """Measure, print and write the table; 3 where a graph is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=tuple(ROWS), choices=ROWS, metavar="NAME")
    parser.add_argument("--exporters", nargs="+", default=EXPORTERS, choices=EXPORTERS, metavar="NAME")
    parser.add_argument("--state", type=Path, default=Path("work_dirs/openmmlab_segmentors.json"), metavar="F")
    parser.add_argument("--page", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    state = state_of(args.state, sources(*MADE_OF), *PACKAGES)
    rows = []
    for name in args.models:
        for exporter in args.exporters:
            for mode in MODES:
                key = f"{name} {exporter} {mode}"
                if key not in state:
                    state[key] = cell(name, exporter, mode)
                    keep(state, args.state)
            rows.append((name, exporter, {mode: state[f"{name} {exporter} {mode}"] for mode in MODES}))
            print(line(*rows[-1]), flush=True)
    if args.page:
        write_page(args.page, "mmsegmentation's models", INTRO, "benchmarks/openmmlab_segmentors.py", table(rows))
    verdicts = [cell["verdict"] for *_, cells in rows for cell in cells.values()]
    return 0 if all(verdict == EQUAL or verdict.startswith(NOT_RUN) for verdict in verdicts) else 3


def cell(name: str, exporter: str, mode: str) -> dict[str, Any]:
    """What came of one export."""
    if mode == "slide" and name in OF_ONE_SIZE:
        return {"verdict": f"{NOT_RUN}: its masks have one size"}
    section = dict(ROWS[name])
    if name in OF_IMAGE_SIZE:
        section["backbone"] = {**section["backbone"], "img_size": MODES[mode].get("crop_size", SIDES)}
    theirs, ours = models({**section, "test_cfg": {**section["test_cfg"], **MODES[mode]}})
    images = images_of(max(BATCHES))
    with torch.no_grad():
        expected = theirs(images)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        try:
            export(ours, int(theirs.num_classes), exporter, images[:2], path)
        except ZooportError as error:
            return {"verdict": f"refused: {' '.join(str(error).split())}"}
        nodes = len(onnx.load(path, load_external_data=False).graph.node)
        session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
        found = [session.run(None, {"images": images[:count].numpy()})[0] for count in BATCHES]
    errors, relabelled = zip(*(compared(expected[: len(own)], torch.from_numpy(own)) for own in found), strict=True)
    verdict = EQUAL if max(errors) < NEAR and not any(relabelled) else f"differs, {max(relabelled)} labels"
    built = "mmsegmentation" if ours is theirs else "zooport"
    return {"verdict": verdict, "built": built, "nodes": nodes, "error": max(errors)}


def models(section: Mapping[str, Any]) -> tuple[Any, Any]:
    """mmsegmentation's model of a section, and what zooport deploys for it: its own with these weights, or the same."""
    torch.manual_seed(0)
    theirs: Any = build_section({"type": "MmsegSegmentor", "config": dict(section)})
    in_use(theirs)
    for module_name, module in theirs.named_modules():
        if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
            if module_name.endswith(".bn3"):
                nn.init.constant_(module.weight, WEAK)
            else:
                nn.init.uniform_(module.weight, 0.5, 1.5)
    height, width = section["backbone"].get("img_size", SIDES)
    images = images_of(4)[..., :height, :width]
    learn_statistics(theirs, lambda: theirs.encode_decode(images), passes=2)
    spread(theirs, images)
    return theirs, deployed_segmentor(section, theirs)


def spread(segmentor: Any, images: Tensor) -> None:
    """The last layer gives each class logits with a mean of 0 and the same deviation, so that labels differ."""
    heads: Any = segmentor.model.decode_head
    head: Any = heads[-1] if isinstance(heads, nn.ModuleList) else heads
    last = getattr(head, "conv_seg", None) or getattr(head, "cls_embed", None)  # of pixels, or of queries
    if last is None:
        return
    with torch.no_grad(), module_outputs({"logits": last}) as seen:
        segmentor.encode_decode(images)
    logits = seen["logits"].movedim(1 if seen["logits"].dim() == PIXELS else -1, 0).flatten(1)  # [C, ...]
    mean, std = logits.mean(dim=1), logits.std(dim=1)
    with torch.no_grad():
        last.weight.div_(std.view(-1, *[1] * (last.weight.dim() - 1)))
        last.bias.sub_(mean).div_(std)
        if hasattr(head, "mask_embed"):
            head.mask_embed[-1].weight.mul_(CLEAR)


def images_of(count: int) -> Tensor:
    """So many, normalised as mmsegmentation does it."""
    return pixels(Given("", count, 0))


def export(model: Any, classes: int, exporter: str, images: Tensor, path: Path) -> None:
    """A file of level decoded for batches 1 to 4, of one size."""
    names = [{"name": str(index), "category_id": index} for index in range(classes)]
    task = build_task({"type": "SemanticSegmentation", "classes": names})
    sides = {"height": AxisRange.fixed(SIDES[0]), "width": AxisRange.fixed(SIDES[1])}
    target = Target({"batch": AxisRange(1, 2, 4), **sides}, exporter=exporter, level="decoded")
    contract = contract_module(model, task, "decoded", {})
    specs = contract.outputs(task, "decoded")
    export_onnx(contract, target, path, example={"images": images}, output_specs=specs, other_sizes=False)


def compared(expected: Tensor, found: Tensor) -> tuple[float, int]:
    """Of logits [N, C, H, W]: the largest error as a part of their range, and how many sure pixels have other labels.

    Raises AssertionError where the library gives a class the same logit everywhere: that would prove little.
    """
    labels, span = expected.argmax(dim=1), expected.max() - expected.min()
    if (expected.std(dim=(0, 2, 3)) < LEAST * span).any():
        raise AssertionError("mmsegmentation gives a class the same logit everywhere, so there is little to compare")
    first, second = expected.topk(2, dim=1).values.unbind(dim=1)
    wrong = (first - second > 2 * NEAR * span) & (labels != found.argmax(dim=1))
    return float((expected - found).abs().max() / span), int(np.count_nonzero(wrong.numpy()))


def line(name: str, exporter: str, cells: Mapping[str, Mapping[str, Any]]) -> str:
    """A row of the table."""
    built = next((own["built"] for own in cells.values() if "built" in own), "")
    figures = [f"{own['nodes']} | {own['error']:.1e}" if "nodes" in own else " | " for own in cells.values()]
    verdicts = {own["verdict"]: mode for mode, own in cells.items()}
    words = (
        next(iter(verdicts)) if len(verdicts) == 1 else ", ".join(f"{mode}: {one}" for one, mode in verdicts.items())
    )
    return f"| {name} | {built} | {exporter} | {' | '.join(figures)} | {words} |"


def table(rows: list[tuple[str, str, dict[str, Any]]]) -> str:
    """With the machine above it."""
    columns = " | ".join(f"nodes, {mode} | error, {mode}" for mode in MODES)
    head = f"| model | built by | exporter | {columns} | verdict |"
    return "\n".join(
        [
            machine(*PACKAGES),
            "",
            head,
            "|---|---|---" + "|---:" * 2 * len(MODES) + "|---|",
            *(line(*row) for row in rows),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
