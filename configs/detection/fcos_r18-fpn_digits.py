"""torchvision's FCOS on a narrow ResNet-18 feature pyramid."""

_base_ = ["../_base_/digits_detection.py"]

card = dict(
    what="torchvision's FCOS on a narrow ResNet-18 feature pyramid",
    paper="FCOS: Fully Convolutional One-Stage Object Detection, Tian et al., 2019, https://arxiv.org/abs/1904.01355",
    licence="Apache-2.0",
)

# min_size and max_size are the sides that preprocess makes: torchvision's own resize stays the identity.
model = dict(
    type="FCOS",
    num_classes=11,
    backbone=dict(base_channels=12, out_channels=64, first_stage=2),
    head_convs=2,
    min_size=256,
    max_size=320,
    score_thresh=0.05,
    nms_thresh=0.5,
    topk_candidates=300,
    detections_per_img=100,
)
checkpoint = "../../zoo/weights/fcos_r18-fpn_digits.safetensors"
train = dict(
    batch_size=8,
    iterations=900,
    scale=(0.75, 1.2),
    seed=0,
    optimizer=dict(type="AdamW", lr=1.2e-3, weight_decay=0.02),
    warmup=50,
    backbone="../../zoo/weights/retinanet_r18-fpn_digits.safetensors",
)
export = dict(
    exporter="dynamo",
    opset=20,
    inputs=dict(batch=(1, 2, 8)),
    output_level="final",
    rewriters=[
        "torchvision.FCOS.forward",
        "torchvision.FCOS.postprocess_detections",
        "torchvision.GeneralizedRCNNTransform.forward",
        "torchvision.GeneralizedRCNNTransform.postprocess",
    ],
)
