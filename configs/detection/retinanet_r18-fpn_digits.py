"""torchvision's RetinaNet on a narrow ResNet-18 feature pyramid."""

_base_ = ["../_base_/digits_detection.py"]

card = dict(
    what="torchvision's RetinaNet on a narrow ResNet-18 feature pyramid",
    paper="Focal Loss for Dense Object Detection, Lin et al., 2017, https://arxiv.org/abs/1708.02002",
    licence="Apache-2.0",
)

# min_size and max_size are the sides that preprocess makes: torchvision's own resize stays the identity.
model = dict(
    type="RetinaNet",
    num_classes=11,
    backbone=dict(base_channels=12, out_channels=48, first_stage=2),
    anchor_sizes=(24, 40, 64, 96),
    sizes_per_octave=2,
    head_norm_groups=12,
    min_size=256,
    max_size=320,
    score_thresh=0.05,
    nms_thresh=0.5,
    topk_candidates=300,
    detections_per_img=100,
)
checkpoint = "../../zoo/weights/retinanet_r18-fpn_digits.safetensors"
train = dict(
    batch_size=8,
    pretrain=dict(iterations=600, batch_size=128, side=64, lr=3e-3),
    iterations=1000,
    scale=(0.75, 1.2),
    seed=0,
    optimizer=dict(type="AdamW", lr=1.5e-3, weight_decay=0.02),
    warmup=50,
)
export = dict(
    exporter="dynamo",
    opset=20,
    inputs=dict(batch=(1, 2, 8)),
    output_level="final",
    rewriters=[
        "torchvision.GeneralizedRCNNTransform.forward",
        "torchvision.GeneralizedRCNNTransform.postprocess",
        "torchvision.RetinaNet.forward",
        "torchvision.RetinaNet.postprocess_detections",
    ],
)
