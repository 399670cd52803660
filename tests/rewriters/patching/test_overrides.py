"""Rule 5: a subclass that overrides what a rewriter patches is refused."""

import types
from dataclasses import replace
from typing import Any

import pytest
from torch import nn
from torchvision.models.detection.roi_heads import RoIHeads
from torchvision.models.detection.rpn import RegionProposalNetwork

from rewriters import rewrites, rewriting
from rewriters.patching import rewriter as registry
from rewriters.patching.overrides import check_overrides
from tests.rewriters.small_models import fixed_target, small_faster_rcnn
from zoo.errors import ExportError

REWRITERS = registry.chosen_for(fixed_target(64, 96))


class OwnRoIHeads(RoIHeads):
    def postprocess_detections(self, *args):
        return super().postprocess_detections(*args)


class OwnProposals(RegionProposalNetwork):
    def filter_proposals(self, *args):
        return super().filter_proposals(*args)


class QuietRoIHeads(RoIHeads):
    def extra_repr(self) -> str:
        return "quiet"


def test_torchvisions_own_classes_pass() -> None:
    check_overrides(small_faster_rcnn(), REWRITERS)


def test_an_overridden_patched_method_is_refused_with_the_way_out() -> None:
    model = small_faster_rcnn()
    model.roi_heads.__class__ = OwnRoIHeads
    with pytest.raises(
        ExportError, match=r"roi_heads: OwnRoIHeads overrides RoIHeads\.postprocess_detections.*@rewrites"
    ):
        check_overrides(model, REWRITERS)


def test_an_overridden_method_that_the_rewriter_bypasses_is_refused() -> None:
    model = small_faster_rcnn()
    model.rpn.__class__ = OwnProposals
    with pytest.raises(ExportError, match=r"OwnProposals overrides RegionProposalNetwork\.filter_proposals"):
        check_overrides(model, REWRITERS)


def test_an_override_on_the_instance_is_refused() -> None:
    model = small_faster_rcnn()
    model.roi_heads.postprocess_detections = types.MethodType(lambda self, *args: None, model.roi_heads)
    with pytest.raises(ExportError, match="on the instance"):
        check_overrides(model, REWRITERS)


def test_a_subclass_that_the_rewriter_leaves_alone_passes() -> None:
    model = small_faster_rcnn()
    model.roi_heads.__class__ = OwnRoIHeads
    leaving = [
        replace(one, leaves=(OwnRoIHeads,)) if one.name.endswith("RoIHeads.postprocess_detections") else one
        for one in REWRITERS
    ]
    check_overrides(model, leaving)


def test_a_subclass_that_overrides_something_else_passes() -> None:
    model = small_faster_rcnn()
    model.roi_heads.__class__ = QuietRoIHeads
    check_overrides(model, REWRITERS)


def test_a_rewriter_of_its_own_makes_the_override_welcome(registry_of_its_own: list[registry.Rewriter]) -> None:
    registry_of_its_own.extend(REWRITERS)
    rewrites(OwnRoIHeads, "postprocess_detections", reason="a test", written_for="torchvision 0.29")(
        lambda original: None
    )
    model = small_faster_rcnn()
    model.roi_heads.__class__ = OwnRoIHeads
    check_overrides(model, registry.chosen_for(fixed_target(64, 96)))


class Head(nn.Module):
    """A family's base class: `decode` calls `decode_one`, which its rewriter does not."""

    def decode(self, x: Any) -> Any:
        return self.decode_one(x)

    def decode_one(self, x: Any) -> Any:
        return x


class ProposalHead(Head):
    """Overrides the bypassed method alone; `decode` is inherited."""

    def decode_one(self, x: Any) -> Any:
        return -x


class NarrowProposalHead(ProposalHead):
    """One more level of inheritance, with nothing of its own."""


class OtherProposalHead(ProposalHead):
    def decode_one(self, x: Any) -> Any:
        return x + 1


DECLARED = {"reason": "a test", "written_for": "zooport 0.1"}


def replacement(original: Any, self: Head, x: Any) -> Any:
    return 10 * x


def proposals_replacement(original: Any, self: Head, x: Any) -> Any:
    return 1000 * x


@pytest.mark.usefixtures("registry_of_its_own")
class TestInheritedMethods:
    """A rewriter of a subclass patches a method that the subclass inherits, beside the base class's rewriter of it."""

    def chosen(self) -> list[registry.Rewriter]:
        return registry.chosen_for(fixed_target(64, 96))

    def declare_base(self) -> None:
        rewrites(Head, "decode", bypasses=("decode_one",), **DECLARED)(replacement)

    def test_the_message_says_what_to_declare(self) -> None:
        self.declare_base()
        advice = (
            r'ProposalHead overrides Head\.decode_one.*no longer calls from decode.*@rewrites\(ProposalHead, "decode"'
        )
        with pytest.raises(ExportError, match=advice):
            check_overrides(ProposalHead(), self.chosen())

    @pytest.mark.parametrize("kind", [ProposalHead, NarrowProposalHead])
    def test_what_the_message_advises_helps(self, kind: type[Head]) -> None:
        self.declare_base()
        rewrites(ProposalHead, "decode", **DECLARED)(proposals_replacement)
        check_overrides(nn.Sequential(kind(), Head()), self.chosen())
        with rewriting(fixed_target(64, 96), eager=True):
            assert kind().decode(1) == 1000
            assert Head().decode(1) == 10
        assert kind().decode(1) == -1

    def test_a_rewriter_of_the_bypassed_method_does_not_help(self) -> None:
        """Nothing calls it."""
        self.declare_base()
        rewrites(ProposalHead, "decode_one", **DECLARED)(proposals_replacement)
        with pytest.raises(ExportError, match=r'@rewrites\(ProposalHead, "decode"'):
            check_overrides(ProposalHead(), self.chosen())

    def test_what_the_subclasss_own_rewriter_bypasses_counts(self) -> None:
        self.declare_base()
        rewrites(ProposalHead, "decode", bypasses=("decode_one",), **DECLARED)(proposals_replacement)
        check_overrides(ProposalHead(), self.chosen())
        with pytest.raises(ExportError, match=r"OtherProposalHead overrides ProposalHead\.decode_one"):
            check_overrides(OtherProposalHead(), self.chosen())

    def test_a_rewriter_of_an_unrelated_class_does_not_help(self) -> None:
        self.declare_base()
        rewrites(OtherProposalHead, "decode", **DECLARED)(proposals_replacement)
        with pytest.raises(ExportError, match=r"ProposalHead overrides Head\.decode_one"):
            check_overrides(ProposalHead(), self.chosen())

    def test_a_method_on_the_instance_has_its_own_advice(self) -> None:
        self.declare_base()
        head = Head()
        head.decode_one = lambda x: x  # type: ignore[method-assign]
        with pytest.raises(ExportError, match="let the class, not the instance, hold the method"):
            check_overrides(head, self.chosen())
