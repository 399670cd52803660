"""Constants of segmentors: the normalisation of their images."""

from collections.abc import Iterator

from torchvision.models.segmentation._utils import _SimpleSegmentationModel
from torchvision.models.segmentation.lraspp import LRASPP

from zoo.contract.constants.constant import Case, Constant, graph_constants, normalization
from zoo.models.segmentation import EncoderDecoder


@graph_constants.register(EncoderDecoder)
def _(model: EncoderDecoder, case: Case) -> Iterator[Constant]:  # noqa: ARG001 - the same for every case
    yield from normalization("", model.mean, model.std)


@graph_constants.register(_SimpleSegmentationModel)
@graph_constants.register(LRASPP)
def _(model: _SimpleSegmentationModel | LRASPP, case: Case) -> Iterator[Constant]:  # noqa: ARG001 - as above
    buffers = dict(model.named_buffers(recurse=False))
    if {"image_mean", "image_std"} <= buffers.keys():  # as zoo's builder leaves them
        yield from normalization("", buffers["image_mean"], buffers["image_std"])
