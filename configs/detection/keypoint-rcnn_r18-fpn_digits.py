"""torchvision's KeypointRCNN on a narrow ResNet-18 feature pyramid."""

_base_ = ["../_base_/digits_keypoints.py"]

card = dict(
    what="torchvision's KeypointRCNN on a narrow ResNet-18 feature pyramid",
    paper="Mask R-CNN, He et al., 2017, https://arxiv.org/abs/1703.06870",
    licence="Apache-2.0",
)

# min_size and max_size are the sides that preprocess makes: torchvision's own resize stays the identity.
model = dict(
    type="KeypointRCNN",
    num_classes=11,
    num_keypoints=4,
    backbone=dict(base_channels=12, out_channels=48),
    anchor_sizes=(16, 32, 64, 128, 256),
    box_head_channels=128,
    keypoint_channels=(48, 48, 48),
    min_size=256,
    max_size=320,
    rpn_pre_nms_top_n_test=1000,
    rpn_post_nms_top_n_test=300,
    box_score_thresh=0.05,
    box_nms_thresh=0.5,
    box_detections_per_img=100,
    rpn_pre_nms_top_n_train=1000,
    rpn_post_nms_top_n_train=300,
    rpn_batch_size_per_image=128,
    box_batch_size_per_image=64,
)
checkpoint = "../../zoo/weights/keypoint-rcnn_r18-fpn_digits.safetensors"
preprocess = dict(size=(256, 320), resize="letterbox", interpolation="bilinear", pad_value=114)
train = dict(
    batch_size=8,
    iterations=750,
    scale=(0.75, 1.2),
    seed=0,
    optimizer=dict(type="AdamW", lr=1.2e-3, weight_decay=0.02),
    warmup=50,
    backbone="../../zoo/weights/retinanet_r18-fpn_digits.safetensors",
)
# Proposals of nearly the same score change places where the input is rounded otherwise, and keypoints of weak
# detections jump. PyTorch does likewise with the deployment's own input; of the 64 pictures of val the worst has 5 of
# 49 detections beyond the end-to-end gates, where 2 % are allowed else.
gates = dict(pipeline=dict(excused=0.12))
export = dict(
    exporter="dynamo",
    opset=20,
    inputs=dict(batch=(1, 2, 8)),
    output_level="final",
    rewriters=[
        "torchvision.GeneralizedRCNN.forward",
        "torchvision.GeneralizedRCNNTransform.forward",
        "torchvision.GeneralizedRCNNTransform.postprocess",
        "torchvision.RegionProposalNetwork.forward",
        "torchvision.MultiScaleRoIAlign.forward",
        "torchvision.RoIHeads.forward",
        "torchvision.RoIHeads.postprocess_detections",
    ],
)
