"""torchvision's fasterrcnn_mobilenet_v3_large_320_fpn, trained on COCO."""

_base_ = [
    "../_base_/coco_detection.py",
    "../_base_/torchvision_rcnn.py",
    "../_base_/torchvision_weights.py",
]

card = dict(
    what="torchvision's FasterRCNN on a MobileNetV3-Large feature pyramid, for small images",
    paper="Searching for MobileNetV3, Howard et al., 2019, https://arxiv.org/abs/1905.02244",
)

# torchvision's builder freezes the backbone's batch norm for pretrained weights alone.
model = dict(
    type="TorchvisionDetector",
    architecture="fasterrcnn_mobilenet_v3_large_320_fpn",
    num_classes=91,
    frozen_batch_norm=1e-5,
)
checkpoint = "torchvision://FasterRCNN_MobileNet_V3_Large_320_FPN_Weights.COCO_V1"
# As in torchvision_rcnn.py, for the min_size 320 and max_size 640 of this architecture.
preprocess = dict(size=(320, 640))
