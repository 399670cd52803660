"""benchmarks/own_models.py: the table of other people's models, on models of one layer."""

from importlib.util import find_spec
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.zoo_configs import ROOT
from zoo.tasks import build_task

TASK = {"type": "ImageClassification", "classes": [{"name": name, "category_id": 1} for name in "abc"]}


class Pooled(nn.Module):
    """Means of channels; `frozen`: over as many pixels as the traced image has, a number that an export keeps."""

    def __init__(self, *, frozen: bool = False) -> None:
        super().__init__()
        self.frozen = frozen

    def forward(self, images: Tensor) -> Tensor:
        if not self.frozen:
            return 9 * images.mean(dim=(2, 3))
        height, width = (int(side) for side in images.shape[2:])
        return 9 * images.sum(dim=(2, 3)) / torch.tensor(float(height * width))


class Brightest(nn.Module):
    """The channel that is the largest at each pixel."""

    def forward(self, images: Tensor) -> Tensor:
        return images * 2


def _own(model: nn.Module, task: dict[str, Any] = TASK, **changes: Any) -> Any:
    from own_model_case import OwnModel

    torch.manual_seed(0)
    images = torch.rand(3, 3, 12, 16) * torch.rand(3, 3, 1, 1)
    fields = {"images": images, "second": torch.rand(1, 3, 15, 11), **changes}
    return OwnModel(model.eval(), build_task(task), **fields)


def _cell(*, frozen: bool) -> dict[str, Any]:
    from own_model_cell import measured_cell

    return measured_cell(_own(Pooled(frozen=frozen)), "torchscript", "proof")


def _red(images: Tensor, count: int) -> Tensor:
    """The first ones are red everywhere."""
    images[:count, 0] += 1
    return images


@pytest.mark.usefixtures("benchmarks")
def test_a_model_that_exports_rightly() -> None:
    cell = _cell(frozen=False)
    assert cell["verdict"] == "passed"
    assert cell["second_size"] == cell["plain"]["verdict"] == "right"
    [(name, error, _)] = cell["errors"]
    assert name == "scores"
    assert error < 1e-5
    assert cell["openvino"] == "right" or find_spec("openvino") is None


@pytest.mark.slow
@pytest.mark.usefixtures("benchmarks")
def test_latency_is_a_stage_of_its_own() -> None:
    from own_model_cell import measured_cell

    cell = measured_cell(_own(Pooled()), "torchscript", "latency")
    assert (cell["verdict"], cell["second_size"]) == ("passed", "right")
    assert cell["of_eager"] > 0
    assert cell["of_plain"] > 0
    assert cell["others"] >= 0
    assert "errors" not in cell


@pytest.mark.slow
@pytest.mark.usefixtures("benchmarks")
def test_an_image_of_one_label_proves_nothing_and_others_may() -> None:
    from own_model_cell import measured_cell

    task = {"type": "SemanticSegmentation", "classes": [{"name": name} for name in "abc"]}
    second = torch.rand(1, 3, 15, 11)
    some = _own(Brightest(), task, images=_red(torch.rand(3, 3, 12, 16), 1), second=second)
    assert measured_cell(some, "torchscript", "proof")["verdict"] == "passed"
    none = _own(Brightest(), task, images=_red(torch.rand(3, 3, 12, 16), 3), second=_red(second, 1))
    with pytest.raises(AssertionError, match="PyTorch gives nothing to compare"):
        measured_cell(none, "torchscript", "proof")


@pytest.mark.slow
@pytest.mark.usefixtures("benchmarks")
def test_torchs_own_export_may_be_of_another_level() -> None:
    from own_model_cell import measured_cell

    cell = measured_cell(_own(Pooled(), plain_level="decoded"), "torchscript", "proof")
    assert cell["plain"]["level"] == "decoded"
    assert cell["plain"]["verdict"] == "right"
    probabilities = measured_cell(_own(Pooled()), "torchscript", "proof")
    assert cell["plain"]["nodes"] < probabilities["plain"]["nodes"]  # no softmax


@pytest.mark.usefixtures("benchmarks")
def test_ranges_hold_both_sizes_and_many_more() -> None:
    own = _own(Pooled())
    axes = own.axes(second=True)
    assert [(axes[name].min, axes[name].opt, axes[name].max) for name in ("height", "width")] == [
        (12, 12, 60),
        (11, 16, 64),
    ]
    assert not own.axes(second=False)["height"].dynamic


@pytest.mark.slow
@pytest.mark.usefixtures("benchmarks")
def test_a_model_that_is_wrong_at_another_size_is_refused_there() -> None:
    cell = _cell(frozen=True)
    assert cell["verdict"] == "passed"
    assert cell["second_size"].startswith("refused: ")
    assert cell["plain"]["verdict"] == "wrong: second size"


@pytest.mark.usefixtures("benchmarks")
def test_the_table_has_every_case_and_the_reasons_below() -> None:
    from own_model_case import kinds
    from own_model_page import table
    from own_models import CODE

    every = kinds()
    assert len(every) == len({kind.name for kind in every})
    counts = [len(kind.cases) for kind in every]
    assert counts == sorted(counts)
    assert all((ROOT / place).exists() for kind in every for place in (*CODE, *kind.made_of))
    kind = next(kind for kind in every if kind.name == "torchvision_classifiers")
    refused = {"verdict": "refused", "reason": "no such operator", "second_size": "one size alone"}
    passed = {
        "verdict": "passed",
        "second_size": "refused: its windows",
        "errors": [["scores", 2e-6, ""], ["masks", None, "IoU"]],
        "borderline": 0,
        "nodes": 49,
        "plain": {"verdict": "right", "nodes": 50, "level": None},
        "openvino": "wrong: batch 3",
        "engine": {"verdict": "passed", "bytes": 23_400_000},
    }
    state = {
        "torchvision_classifiers | resnet18 | dynamo | proof": refused,
        "torchvision_classifiers | resnet18 | torchscript | proof": passed,
        "torchvision_classifiers | resnet18 | torchscript | latency": {"of_eager": 0.5, "of_plain": None},
        "torchvision_classifiers | swin_t | dynamo | proof": refused,
    }
    lines = table(kind, state).splitlines()
    assert lines[0] == "## Classifiers of torchvision: TorchvisionClassifier"
    assert "| resnet18 | dynamo | refused |  |  |  |  |  | one size alone |  |  |  |" in lines
    numbers = "passed | 2.0e-06 (scores) | 49 / 50 | 0.50 | - | 1, 3 | refused | right | wrong | 23.4 MB"
    assert f"| resnet18 | torchscript | {numbers} |" in lines
    assert "- resnet18, dynamo: refused: no such operator" in lines
    assert "- resnet18, torchscript: second size refused: its windows" in lines
    assert "- resnet18, torchscript: OpenVINO wrong: batch 3" in lines
    assert lines[-1].startswith("Not run yet: alexnet, ")
    assert ", swin_t by torchscript, vgg11_bn, " in lines[-1]
    assert table(kind, {}).splitlines()[1:] == ["", "Not run yet."]


@pytest.mark.usefixtures("benchmarks")
def test_how_long_the_rest_takes_follows_from_what_was_run() -> None:
    from own_models import estimate

    cells = [("few", "a", "dynamo"), ("few", "b", "dynamo"), *(("many", str(number), "x") for number in range(9))]
    assert estimate(cells, {}) == "11 cells to run, about 11 minutes at 60 s for each"
    assert estimate(cells, {"few | a | dynamo": {"seconds": 120}}) == "10 cells to run, about 20 minutes"


@pytest.mark.usefixtures("benchmarks")
def test_a_cell_of_other_code_and_one_that_failed_are_run_again() -> None:
    from own_models import drop_stale

    cells = [("few", "a"), ("few", "b"), ("few", "c"), ("many", "a")]
    state = {
        "few | a": {"made_of": "this"},
        "few | b": {"made_of": "that"},
        "few | c": {"verdict": "failed"},
        "many | a": {"made_of": "those"},
        "others | a": {"made_of": "that"},  # not among those that are run
    }
    drop_stale(cells, state, {"few": "this", "many": "those"})
    assert list(state) == ["few | a", "many | a", "others | a"]


@pytest.mark.usefixtures("benchmarks")
def test_the_page_says_whether_latency_was_measured_on_an_idle_machine() -> None:
    from own_model_page import latency_note

    assert latency_note({}).startswith("Latency: a dash where ")
    state = {
        "a | b | dynamo | proof": {"machine": "one", "made_of": "12ab; torch 1.0"},
        "a | b | dynamo | latency": {"machine": "two", "made_of": "12ab; torch 1.0", "others": 0.04},
        "a | c | dynamo | latency": {"machine": "two", "made_of": "34cd; torch 1.0", "others": 1.71},
        "a | d | dynamo | latency": {"verdict": "failed"},
    }
    note = latency_note(state)
    assert "measured on two; torch 1.0. Meanwhile other programs kept 0.0 to 1.7 of its threads busy" in note
