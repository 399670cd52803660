"""The versions that these rewriters were written for."""

WRITTEN_FOR = "mmdet 3.3.0, onedl-mmdetection 3.5.1"
EACH_IMAGE = (
    "loops over the images, which freezes the batch size under torchscript, and keeps a data-dependent number of "
    "boxes, which dynamo refuses"
)
CONSTANT = "is traced into nodes that compute what is fixed by the size of the input; dynamo folds them by itself"
