"""What each row of the comparison with mmdeploy exports: a model of the library itself, images, and what eager gives.

The models are small ones with seeded random weights, their batch norms with the statistics of images. Eager is the
unpatched library: mmdetection's own `predict`, mmsegmentation's own inference in the `mode` of its config.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from mmdeploy_peer_rows import SEGMENTORS
from torch import Tensor, nn

from tests.rewriters.mmdetection.exported import task_of
from tests.small_mmdet import SIDES, SLOTS, byte_images, own_results, resized, small
from tests.translated_segmentors import in_use
from tests.zoo.codebases.small_configs import MEAN, STD, config_content
from zoo.build import build_section
from zoo.checkpoint import load_state, state_for
from zoo.codebases import CodebaseConfig, codebase_of
from zoo.random_weights import learn_statistics
from zoo.tasks import build_task

CLASS_STD = 2.0  # of the logits of each class, whose mean is 0, so that labels differ
NMS_PRE = 1000
"""That of most of mmdetection's own configs: of pairs of prior and class there, of priors in mmdeploy."""
FIELDS = ("bboxes", "scores", "labels", "masks")


class Given(NamedTuple):
    """Images that a graph is run on: so many of tests.small_mmdet's four, from a number on, at a size (h, w)."""

    name: str
    number: int
    first: int
    size: tuple[int, int] = SIDES

    @property
    def pixels(self) -> Tensor:
        """uint8 [N, 3, H, W], RGB."""
        images = byte_images(self.number, self.first)
        return images if self.size == SIDES else resized(images, self.size)


SECOND = (128, 96)
GIVEN = (Given("batch 1", 1, 3), Given("batch 3", 3, 0), Given("second size", 2, 0, SECOND))
LEARNED = (Given("", 4, 0), Given("", 4, 0, SECOND))
"""The images whose statistics the batch norms have."""


class Case(NamedTuple):
    """A row."""

    model: Any
    """The library's own, as mmdeploy takes it."""
    ours: nn.Module
    """The same weights as zooport deploys them."""
    task: Any
    level: str
    images: Callable[[Given], Tensor]
    """What zooport's graph takes."""
    normalised: Callable[[Given], Tensor]
    """The same images as mmdeploy's graph takes them."""
    eager: Callable[[Given], Any]
    """A dictionary of arrays for each image, or logits [N, C, H, W]."""

    @property
    def detects(self) -> bool:
        """Else it segments."""
        return self.level == "final"


def case_of(name: str) -> Case:
    """The model of a row."""
    return segmentor(SEGMENTORS[name]) if name in SEGMENTORS else detector(name)


def detector(name: str) -> Case:
    """One of tests.small_mmdet's, with as many candidates as the library's own configs have."""
    ours = small(name, sizes=tuple(given.size for given in LEARNED))
    for module in ours.model.modules():
        options: Any = getattr(module, "test_cfg", None) or {}
        if "nms_pre" in options:
            options["nms_pre"] = NMS_PRE

    def images(given: Given) -> Tensor:
        return given.pixels / 255

    def normalised(given: Given) -> Tensor:
        inputs: Tensor = ours.padded(ours.normalised(images(given), None))
        return inputs

    def eager(given: Given) -> list[dict[str, Any]]:
        return [arrays(found) for found in own_results(ours, given.pixels)]

    return Case(ours.model, ours, task_of(name), "final", images, normalised, eager)


def arrays(instances: Any) -> dict[str, Any]:
    """mmdetection's InstanceData as arrays: the best of them, as many as a graph has slots."""
    return {name: instances[name][:SLOTS].numpy() for name in FIELDS if name in instances}


def segmentor(section: Mapping[str, Any]) -> Case:
    """mmsegmentation's model, and zooport's translation of it with the same weights."""
    torch.manual_seed(0)
    theirs: Any = build_section({"type": "MmsegSegmentor", "config": section})
    in_use(theirs)
    learn_statistics(theirs, lambda: [theirs.encode_decode(pixels(given)) for given in LEARNED], passes=2)
    spread(theirs)
    ours = deployed_segmentor(section, theirs)

    def eager(given: Given) -> Tensor:
        with torch.no_grad():
            logits: Tensor = theirs(pixels(given))
        return logits

    classes = [{"name": str(index), "category_id": index} for index in range(theirs.num_classes)]
    task = build_task({"type": "SemanticSegmentation", "classes": classes})
    return Case(theirs.model, ours, task, "decoded", pixels, pixels, eager)


def deployed_segmentor(section: Mapping[str, Any], theirs: Any) -> Any:
    """What zooport deploys for a section: its own model with these weights, or the library's where it has no parts."""
    content = config_content(dict(section))
    codebase = codebase_of(content, "my.py")
    assert codebase is not None
    translation = codebase.translate(CodebaseConfig(Path("my.py"), content)).content["model"]
    if translation["type"] == type(theirs).__name__:
        return theirs
    ours: Any = build_section(translation).eval()
    state = {name.removeprefix("model."): tensor for name, tensor in theirs.state_dict().items()}
    load_state(ours, state_for(ours, state, "mmseg"), "mmseg")
    return ours


def pixels(given: Given) -> Tensor:
    """Images as mmsegmentation's data_preprocessor normalises them."""
    mean, std = (torch.tensor(values).view(1, 3, 1, 1) for values in (MEAN, STD))
    return (given.pixels - mean) / std


def spread(segmentor: Any) -> None:
    """Each class gets logits with a mean of 0 and the same deviation, so that the best class differs."""
    layer = segmentor.decode_head.conv_seg
    with torch.no_grad():
        logits = segmentor.encode_decode(pixels(LEARNED[0]))
        mean, std = logits.mean(dim=(0, 2, 3)), logits.std(dim=(0, 2, 3))
        layer.weight.mul_((CLASS_STD / std).view(-1, 1, 1, 1))
        layer.bias.copy_((layer.bias - mean) * CLASS_STD / std)
