"""What a TimmClassifier refuses before its library is imported, and without it; sizes that a family declares."""

import sys

import pytest
import torch
from torch import Tensor, nn

from pipeline.parity.graph_inputs import GraphInput
from pipeline.parity.graph_parity import graph_references
from tests.small_tasks import small_task
from zoo.errors import BackendUnavailableError, InputError
from zoo.families import Family, family_of
from zoo.families import registry as family_registry
from zoo.families.registry import register
from zoo.models.timm import TimmFamily, build_timm_classifier
from zoo.models.timm.classifier import NOT_TAKEN
from zoo.models.timm.family import check_one_size
from zoo.target import AxisRange


def a_class(module: str, *bases: type[nn.Module]) -> type[nn.Module]:
    """As a library's module would have it."""
    return type("Net", bases or (nn.Module,), {"__module__": module})


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is forgotten behind it."""
    family_of(nn.Identity())  # loads the zoo's own
    monkeypatch.setattr(family_registry, "_by_class", dict(family_registry._by_class))


@pytest.fixture
def no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "timm", None)


@pytest.mark.usefixtures("no_library")
@pytest.mark.parametrize("name", NOT_TAKEN)
def test_options_that_the_config_says_elsewhere(name: str) -> None:
    with pytest.raises(InputError, match=f"TimmClassifier: {name}: ") as caught:
        build_timm_classifier("resnet18", num_classes=3, **{name: "x"})
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("no_library")
def test_without_the_library() -> None:
    with pytest.raises(BackendUnavailableError, match=r'a TimmClassifier needs it: pip install "zooport\[timm\]"'):
        build_timm_classifier("resnet18", num_classes=3)


class TestAFamilyOfAPackage:
    def test_is_that_of_its_classes_and_of_their_subclasses(self) -> None:
        net = a_class("timm.models.resnet")
        assert isinstance(family_of(net()), TimmFamily)
        assert isinstance(family_of(a_class("my_file", net)()), TimmFamily)
        assert not isinstance(family_of(a_class("timmy.models")()), TimmFamily)

    @pytest.mark.usefixtures("registered")
    def test_a_class_of_the_package_may_have_its_own(self) -> None:
        net = a_class("timm.models.special")

        @register(net)
        class Special(Family):
            pass

        assert isinstance(family_of(net()), Special)
        assert isinstance(family_of(a_class("timm.models.other")()), TimmFamily)

    def test_a_package_has_one(self) -> None:
        with pytest.raises(InputError, match="family Second: timm already belongs to TimmFamily"):

            @register("timm")
            class Second(Family):
                pass


class OfOneSize(nn.Module):
    def forward(self, images: Tensor) -> Tensor:
        assert images.shape[2:] == (8, 12), f"got {tuple(images.shape)}\nand more"
        return images.mean(dim=(2, 3))


@pytest.mark.parametrize(
    ("height", "other"), [(AxisRange.fixed(8), None), (AxisRange.fixed(16), 16), (AxisRange(8, 8, 16), 16)]
)
def test_a_model_that_takes_one_size(height: AxisRange, other: int | None) -> None:
    sides = {"height": height, "width": AxisRange.fixed(12)}
    if other is None:
        check_one_size("Net", (8, 12), sides)
        return
    with pytest.raises(InputError, match=f"height {other}: this Net takes only images of 8x12; .* --arg img_size=H,W"):
        check_one_size("Net", (8, 12), sides)


def test_a_model_that_refuses_the_second_size_is_one_line() -> None:
    inputs = [GraphInput((), {"images": torch.rand(1, 3, side, 12).numpy()}) for side in (8, 9)]
    words = r"runs on a tensor \[1, 3, 8, 12\] and refuses one \[1, 3, 9, 12\] \(AssertionError: got .*\); fix"
    with pytest.raises(InputError, match=words) as caught:
        graph_references(OfOneSize(), small_task("image-classification"), "final", {}, inputs)
    assert "\n" not in str(caught.value)
    with pytest.raises(AssertionError):  # of the first size: a fault of the model's, with its traceback
        graph_references(OfOneSize(), small_task("image-classification"), "final", {}, inputs[1:])
