"""torchvision's RetinaNet on a narrow ResNet-18 feature pyramid."""

_base_ = ["../_base_/digits_detection.py", "../_base_/digits_dense.py"]

card = dict(
    what="torchvision's RetinaNet on a narrow ResNet-18 feature pyramid",
    paper="Focal Loss for Dense Object Detection, Lin et al., 2017, https://arxiv.org/abs/1708.02002",
    licence="Apache-2.0",
)

# min_size and max_size are the sides that preprocess makes: torchvision's own resize stays the identity.
model = dict(
    type="RetinaNet",
    backbone=dict(out_channels=48),
    anchor_sizes=(24, 40, 64, 96),
    sizes_per_octave=2,
    head_norm_groups=12,
    min_size=256,
    max_size=320,
    nms_thresh=0.5,
    topk_candidates=300,
)
checkpoint = "../../zoo/weights/retinanet_r18-fpn_digits.safetensors"
train = dict(
    pretrain=dict(iterations=600, batch_size=128, side=64, lr=3e-3),
    iterations=1000,
    optimizer=dict(lr=1.5e-3),
)
export = dict(
    rewriters=[
        "torchvision.GeneralizedRCNNTransform.forward",
        "torchvision.GeneralizedRCNNTransform.postprocess",
        "torchvision.RetinaNet.forward",
        "torchvision.RetinaNet.postprocess_detections",
    ],
)
