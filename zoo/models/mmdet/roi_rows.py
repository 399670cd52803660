"""What mmdetection's RoI heads make of their proposals: a row for each, with a box for each class."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from zoo.models.mmdet.dense_rows import CLASSES, CODES, MapSizes, clipped

PROPOSALS = "proposals"
LAYERS = {CLASSES: "fc_cls", CODES: "fc_reg"}
"""The layers of a BBoxHead that give them."""


class Stages(NamedTuple):
    """What each stage takes, boxes [R, 5] after the number of their image, and gives: logits [R, C + 1], and codes."""

    rois: list[Tensor]
    outputs: list[tuple[Tensor, Tensor | None]]


class RoIRule:
    """As DenseRule, of proposals in place of priors; of a cascade the boxes and codes of the last stage."""

    boxes_by_class: ClassVar[bool] = True

    def names(self, head: Any) -> tuple[str, ...]:
        """Of the rows: some heads have no codes."""
        return (PROPOSALS, CLASSES, *([CODES] if box_heads(head)[-1].with_reg else []))

    def outputs(self, model: Any, images: Tensor, run: Callable[[], Any]) -> dict[str, Tensor]:
        """The rows of the boxes that the RPN gives: float32 [N, P, ...], unused slots hold zeros.

        The logits of a cascade are the mean of its stages'.
        """
        detector = model.model
        head, slots = detector.roi_head, int(detector.rpn_head.test_cfg.max_per_img)
        names, last = self.names(head), box_heads(head)[-1]
        with stages(head) as seen:
            run()
        if not seen.rois:  # no image has a proposal: mmdetection leaves the second stage out
            widths = (4, *(getattr(last, LAYERS[name]).out_features for name in names[1:]))
            return {
                name: images.new_zeros(len(images), slots, width) for name, width in zip(names, widths, strict=True)
            }
        count = len(box_heads(head))
        first, final = seen.rois[0], seen.rois[count - 1]
        logits = [own for own, _ in seen.outputs]
        columns = (final[:, 1:], torch.stack(logits).mean(dim=0) if count > 1 else logits[0], seen.outputs[-1][1])
        rows = [model.in_slots(rows, first[:, 0], images.shape[0], slots) for rows in columns if rows is not None]
        used = (model.in_slots(first[:, 1:], first[:, 0], images.shape[0], slots) != 0).any(dim=-1, keepdim=True)
        return dict(zip(names, [own * used for own in rows], strict=True))

    def rows(self, head: Any, outputs: Any) -> dict[str, Tensor]:  # noqa: ARG002 - as every rule
        """proposals [N, P, 4] in pixels, cls_scores [N, P, C + 1], bbox_preds [N, P, 4] or [N, P, C * 4]."""
        rows: dict[str, Tensor] = outputs
        return rows

    def decoded(self, head: Any, outputs: Any, ends: Tensor, map_sizes: MapSizes) -> tuple[Tensor, Tensor]:  # noqa: ARG002
        """Boxes [N, P, C, 4] and scores [N, P, C]; unused slots hold zeros."""
        proposals, logits, codes = outputs[PROPOSALS], outputs[CLASSES], outputs.get(CODES)
        last, slots = box_heads(head)[-1], proposals.shape[1]
        copies = 1 if codes is None or last.reg_class_agnostic else last.num_classes
        boxes = proposals.unsqueeze(2).expand(-1, -1, copies, -1).reshape(-1, slots * copies, 4)
        if codes is not None:
            decoded = last.bbox_coder.decode(boxes.reshape(-1, 4), codes.reshape(-1, 4))
            boxes = getattr(decoded, "tensor", decoded).reshape(-1, slots * copies, 4)
        if codes is None or last.bbox_coder.clip_border:
            boxes = clipped(boxes, ends)
        scores = last.loss_cls.get_activation(logits) if last.custom_cls_channels else logits.softmax(dim=-1)
        used = (proposals != 0).any(dim=-1, keepdim=True)
        return boxes.reshape(-1, slots, copies, 4).expand(-1, -1, last.num_classes, -1), scores[..., :-1] * used


def box_heads(head: Any) -> list[Any]:
    """Of the stages of a RoI head, in order."""
    return list(head.bbox_head) if isinstance(head.bbox_head, nn.ModuleList) else [head.bbox_head]


@contextmanager
def stages(head: Any) -> Iterator[Stages]:
    """What the stages of a RoI head take and give while the whole model runs; nothing stays on the modules."""
    seen = Stages([], [])
    extractors = head.bbox_roi_extractor
    with ExitStack() as hooks:
        for extractor in extractors if isinstance(extractors, nn.ModuleList) else [extractors]:
            hook = extractor.register_forward_pre_hook(lambda _module, arguments: seen.rois.append(arguments[1]))
            hooks.callback(hook.remove)
        for each in box_heads(head):
            hook = each.register_forward_hook(lambda _module, _arguments, output: seen.outputs.append(output))
            hooks.callback(hook.remove)
        yield seen
