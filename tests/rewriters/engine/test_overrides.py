"""Rule 5: a subclass that overrides what a rewriter patches is refused."""

import types

import pytest
from torchvision.models.detection.roi_heads import RoIHeads
from torchvision.models.detection.rpn import RegionProposalNetwork

from rewriters import rewrites
from rewriters.engine import rewriter as registry
from rewriters.engine.overrides import check_overrides
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
