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
# Proposals of nearly the same score change places where the input is rounded otherwise, and keypoints of weak
# detections jump. PyTorch does likewise with the deployment's own input; of the 64 pictures of val the worst has 5 of
# 49 detections beyond the end-to-end gates, where 2 % are allowed else (tools/deploy.py with --image for all of val).
gates = dict(pipeline=dict(excused=0.12))
