"""torchvision's SSD with the predictors of SSDLite, on a narrow ResNet-18 feature pyramid."""

_base_ = ["../_base_/digits_detection.py", "../_base_/digits_dense.py"]

card = dict(
    what="torchvision's SSD with the predictors of SSDLite, on a narrow ResNet-18 feature pyramid",
    paper="MobileNetV2: Inverted Residuals and Linear Bottlenecks, Sandler et al., 2018, https://arxiv.org/abs/1801.04381",
    licence="Apache-2.0",
)

# size is the width and height that preprocess makes: torchvision's own resize stays the identity.
model = dict(
    type="SSD",
    lite=True,
    backbone=dict(out_channels=64),
    size=(320, 256),
    aspect_ratios=(2,),
    scale_range=(0.12, 0.6),
    nms_thresh=0.45,
    topk_candidates=200,
)
checkpoint = "../../zoo/weights/ssdlite_r18-fpn_digits.safetensors"
train = dict(
    iterations=1200,
    optimizer=dict(lr=1.5e-3),
    backbone="../../zoo/weights/retinanet_r18-fpn_digits.safetensors",
)
export = dict(
    rewriters=[
        "torchvision.GeneralizedRCNNTransform.forward",
        "torchvision.GeneralizedRCNNTransform.postprocess",
        "torchvision.SSD.forward",
        "torchvision.SSD.postprocess_detections",
    ],
)
