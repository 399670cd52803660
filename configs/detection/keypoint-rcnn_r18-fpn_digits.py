"""torchvision's KeypointRCNN on a narrow ResNet-18 feature pyramid."""

_base_ = ["../_base_/digits_keypoints.py", "../_base_/digits_rcnn_branches.py"]

card = dict(
    what="torchvision's KeypointRCNN on a narrow ResNet-18 feature pyramid",
    paper="Mask R-CNN, He et al., 2017, https://arxiv.org/abs/1703.06870",
    licence="Apache-2.0",
)

model = dict(
    type="KeypointRCNN",
    num_keypoints=4,
    keypoint_channels=(48, 48, 48),
)
checkpoint = "../../zoo/weights/keypoint-rcnn_r18-fpn_digits.safetensors"
