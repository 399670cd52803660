"""torchvision's FCOS on a narrow ResNet-18 feature pyramid."""

_base_ = ["../_base_/digits_detection.py", "../_base_/digits_dense.py"]

card = dict(
    what="torchvision's FCOS on a narrow ResNet-18 feature pyramid",
    paper="FCOS: Fully Convolutional One-Stage Object Detection, Tian et al., 2019, https://arxiv.org/abs/1904.01355",
    licence="Apache-2.0",
)

# min_size and max_size are the sides that preprocess makes: torchvision's own resize stays the identity.
model = dict(
    type="FCOS",
    backbone=dict(out_channels=64),
    head_convs=2,
    min_size=256,
    max_size=320,
    nms_thresh=0.5,
    topk_candidates=300,
)
checkpoint = "../../zoo/weights/fcos_r18-fpn_digits.safetensors"
train = dict(
    iterations=900,
    optimizer=dict(lr=1.2e-3),
    backbone="../../zoo/weights/retinanet_r18-fpn_digits.safetensors",
)
export = dict(
    rewriters=[
        "torchvision.FCOS.forward",
        "torchvision.FCOS.postprocess_detections",
        "torchvision.GeneralizedRCNNTransform.forward",
        "torchvision.GeneralizedRCNNTransform.postprocess",
    ],
)
