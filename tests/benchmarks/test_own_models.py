"""benchmarks/own_models.py: the table of other people's models, on models of one layer."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from zoo.tasks import build_task

TASK = {"type": "ImageClassification", "classes": [{"name": name, "category_id": 1} for name in "abc"]}


class Pooled(nn.Module):
    """Means of channels; `frozen`: over as many pixels as the traced image has, a number that an export keeps."""

    def __init__(self, *, frozen: bool) -> None:
        super().__init__()
        self.frozen = frozen

    def forward(self, images: Tensor) -> Tensor:
        if not self.frozen:
            return 9 * images.mean(dim=(2, 3))
        height, width = (int(side) for side in images.shape[2:])
        return 9 * images.sum(dim=(2, 3)) / torch.tensor(float(height * width))


def _cell(*, frozen: bool) -> dict[str, Any]:
    from own_model_case import OwnModel
    from own_model_cell import measured_cell

    torch.manual_seed(0)
    images = torch.rand(3, 3, 12, 16) * torch.rand(3, 3, 1, 1)
    own = OwnModel(Pooled(frozen=frozen).eval(), build_task(TASK), images, torch.rand(1, 3, 15, 11))
    return measured_cell(own, "torchscript")


@pytest.mark.usefixtures("benchmarks")
def test_a_model_that_exports_rightly() -> None:
    cell = _cell(frozen=False)
    assert cell["verdict"] == "passed"
    assert cell["second_size"] == cell["plain"]["verdict"] == "right"
    assert cell["of_eager"] > 0
    assert cell["of_plain"] > 0
    [(name, error, _)] = cell["errors"]
    assert name == "scores"
    assert error < 1e-5


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
    from own_models import table

    every = list(kinds())
    assert len(every) == len({kind.name for kind in every})
    kind = next(kind for kind in every if kind.name == "torchvision_classifiers")
    refused = {"verdict": "refused", "reason": "no such operator", "second_size": "one size alone"}
    lines = table(kind, {"torchvision_classifiers | resnet18 | dynamo": refused}).splitlines()
    assert lines[0] == "## Classifiers of torchvision: TorchvisionClassifier"
    assert sum(line.startswith("| resnet18 |") for line in lines) == 2
    assert "- resnet18, dynamo: refused: no such operator" in lines
