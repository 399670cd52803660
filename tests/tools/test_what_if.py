"""tools/what_if.py: choices and the search on a tiny model, and its errors, one line each."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file
from torch import Tensor, nn

from tests.tools.conftest import in_this_process
from tests.tools.tiny import SIZE, Run, Tiny
from zoo.registry import MODELS

pytestmark = pytest.mark.usefixtures("no_plots")

CONFIG = "configs/segmentation/fcn_r18_digits.py"
IGNORED = 255
Tool = Callable[[Sequence[str]], Run]


@pytest.fixture
def what_if(capsys: pytest.CaptureFixture[str]) -> Tool:
    """Run zooport what-if in this process."""
    return in_this_process("what-if", capsys)


class TwoLayers(nn.Module):
    """The tiny segmentor behind a layer that gives a channel of zeros, whose weights take all of int8's steps."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 4, 1), nn.Conv2d(4, 4, 1)
        with torch.no_grad():
            self.first.weight.copy_(torch.eye(4, 3)[:, :, None, None])
            self.first.bias.zero_()
            self.second.weight.copy_(torch.eye(4).roll(1, 0)[:, :, None, None])
            self.second.weight[:, 3] = 1000
            self.second.bias.copy_(torch.tensor((0.4, 0.0, 0.0, 0.0)))

    def forward(self, images: Tensor, mode: str = "tensor") -> Tensor:
        """Logits [N, 4, H, W]."""
        logits: Tensor = self.second(self.first(images))
        return logits


@pytest.fixture
def harmed(voc: Tiny) -> Tiny:
    """The tiny config with that model, and the tiny model's truth."""
    MODELS.register_module(name="TwoLayers", module=TwoLayers, force=True)
    text = voc.config.read_text(encoding="utf-8").replace("TinySegmentor", "TwoLayers")
    voc.config.write_text(text.replace("tiny.safetensors", "two.safetensors"), encoding="utf-8")
    save_file(TwoLayers().state_dict(), voc.folder / "two.safetensors")
    return voc


def calibrated(voc: Tiny, *more: object) -> list[str]:
    """The tiny config, on training images of its own; what is found goes to a file."""
    given = [voc.config, "--calibration-image", voc.folder / "training", "--json", voc.folder / "done.json", *more]
    return [str(each) for each in given]


def found(voc: Tiny) -> Any:
    """What --json was given."""
    return json.loads((voc.folder / "done.json").read_text(encoding="utf-8"))


def test_choices_are_judged_by_the_metric(harmed: Tiny, what_if: Tool) -> None:
    more = ["--keep-fp32", "second", "--keep-fp32", "first", "second"]
    run = what_if(calibrated(harmed, *more))
    assert run.code == 0, run.err
    content = found(harmed)
    nothing, second, both = content["trials"]
    assert [trial["keep_fp32"] for trial in content["trials"]] == [[], ["second"], ["first", "second"]]
    assert [trial["layers"] for trial in content["trials"]] == [
        {"int8": 2},
        {"float32": 1, "int8": 1},
        {"float32": 2},
    ]
    assert nothing["value"] < content["reference"] - 20
    assert [trial["within"] for trial in content["trials"]] == [False, True, True]
    assert abs(second["difference"]) <= content["judge"]["tolerance"] == 1
    assert both["value"] == content["reference"] > 0
    assert content["judge"]["images"] == 7
    assert content["needed"] is None
    assert "first, second" in run.out


def test_what_must_stay_is_searched(harmed: Tiny, what_if: Tool) -> None:
    run = what_if(calibrated(harmed))
    assert run.code == 0, run.err
    assert found(harmed)["needed"] == ["second"]
    assert 'export=dict(precision=dict(int8=dict(keep_fp32=["second"])))' in run.out


def test_fp16_by_matched_results_on_an_image_of_ones_own(harmed: Tiny, what_if: Tool) -> None:
    """No truth is needed; one image is enough, and no other is taken."""
    more = ["--precision", "fp16", "--judge", "matched", "--tolerance", 1, "--image", harmed.images[0]]
    run = what_if(calibrated(harmed, *more))
    assert run.code == 0, run.err
    content = found(harmed)
    assert (content["reference"], content["judge"]["images"]) == (100, 1)
    assert content["trials"][0]["layers"] == {"float16": 2}
    assert 99 < content["trials"][0]["value"] <= 100


def test_images_that_judge_calibrate_nothing(voc: Tiny, what_if: Tool) -> None:
    run = what_if([str(voc.config), "--calibration-image", str(voc.folder / "voc/JPEGImages")])
    assert run.code == 2
    assert "which judges; give images of the training set" in run.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--limit", "0"], "--limit 0: expected 1 or more"),
        (["--tolerance", "-1"], "--tolerance -1: expected more than 0"),
        (["--keep-fp32", "layer1", "--depth", "3"], "--depth is for the search, and --keep-fp32 gives the choices"),
        (["--image", "a.jpg", "--limit", "3"], "--limit is for the data set, and --image gives the inputs"),
        (["--judge", "matched"], "matched results have no gate; give --tolerance"),
        (["--image", "a.jpg"], "images of your own have no ground truth for a metric"),
    ],
)
def test_a_wrong_value_is_one_line(what_if: Tool, arguments: list[str], words: str) -> None:
    run = what_if([CONFIG, *arguments])
    assert run.code == 2
    assert words in run.err
    assert run.err.count("\n") == 1


def test_no_data_to_judge_on_is_one_line(tiny: Tiny, what_if: Tool) -> None:
    run = what_if([str(tiny.config), "--judge", "matched", "--tolerance", "1"])
    assert run.code == 2
    assert "no dataset to judge on; add one, or give --judge matched --image" in run.err


def test_a_metric_with_nothing_to_lose_is_refused(voc: Tiny, what_if: Tool) -> None:
    for truth in (voc.folder / "voc/SegmentationClass").iterdir():
        Image.fromarray(np.full(SIZE, IGNORED, np.uint8), "L").save(truth)
    run = what_if(calibrated(voc))
    assert run.code == 2
    assert "so there is nothing to lose; give a larger --limit" in run.err


def test_every_choice_is_checked_before_the_first_is_tried(voc: Tiny, what_if: Tool) -> None:
    run = what_if(calibrated(voc, "--keep-fp32", "conv", "--keep-fp32", "covn"))
    assert run.code == 5
    assert 'no node is of a module "covn"; nearest: "conv"' in run.err
    assert "in fp32 nothing" not in run.out
