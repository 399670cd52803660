"""torchvision's FasterRCNN on a narrow ResNet-18 feature pyramid."""

_base_ = ["../_base_/digits_detection.py", "../_base_/digits_rcnn.py"]

card = dict(
    what="torchvision's FasterRCNN on a narrow ResNet-18 feature pyramid",
    paper="Faster R-CNN, Ren et al., 2015, https://arxiv.org/abs/1506.01497",
    licence="Apache-2.0",
)

model = dict(
    type="FasterRCNN",
    backbone=dict(base_channels=16, out_channels=64),
    box_head_channels=256,
    box_batch_size_per_image=128,
)
checkpoint = "../../zoo/weights/faster-rcnn_r18-fpn_digits.safetensors"
train = dict(backbone="../../zoo/weights/fcn_r18_digits.safetensors")  # start from the segmentor's backbone
export = dict(precision=dict(int8=dict(keep_fp32=["backbone.body.conv1"])))  # else OpenVINO loses 1.00 points
