"""torchvision's SSD with the predictors of SSDLite, on a narrow ResNet-18 feature pyramid."""

_base_ = ["../_base_/digits_detection.py"]

card = dict(
    what="torchvision's SSD with the predictors of SSDLite, on a narrow ResNet-18 feature pyramid",
    paper="MobileNetV2: Inverted Residuals and Linear Bottlenecks, Sandler et al., 2018, https://arxiv.org/abs/1801.04381",
    licence="Apache-2.0",
)

# size is the width and height that preprocess makes: torchvision's own resize stays the identity.
model = dict(
    type="SSD",
    lite=True,
    num_classes=11,
    backbone=dict(base_channels=12, out_channels=64, first_stage=2),
    size=(320, 256),
    aspect_ratios=(2,),
    scale_range=(0.12, 0.6),
    score_thresh=0.05,
    nms_thresh=0.45,
    topk_candidates=200,
    detections_per_img=100,
)
checkpoint = "../../zoo/weights/ssdlite_r18-fpn_digits.safetensors"
train = dict(
    batch_size=8,
    iterations=1200,
    scale=(0.75, 1.2),
    seed=0,
    optimizer=dict(type="AdamW", lr=1.5e-3, weight_decay=0.02),
    warmup=50,
    backbone="../../zoo/weights/retinanet_r18-fpn_digits.safetensors",
)
export = dict(
    exporter="dynamo",
    opset=20,
    inputs=dict(batch=(1, 2, 8)),
    output_level="final",
    rewriters=[
        "torchvision.GeneralizedRCNNTransform.forward",
        "torchvision.GeneralizedRCNNTransform.postprocess",
        "torchvision.SSD.forward",
        "torchvision.SSD.postprocess_detections",
    ],
)
