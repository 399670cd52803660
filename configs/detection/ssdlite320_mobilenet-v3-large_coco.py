"""torchvision's ssdlite320_mobilenet_v3_large, trained on COCO."""

_base_ = [
    "../_base_/coco_detection.py",
    "../_base_/torchvision_weights.py",
]

card = dict(
    what="torchvision's SSDLite320 on MobileNetV3-Large",
    paper="Searching for MobileNetV3, Howard et al., 2019, https://arxiv.org/abs/1905.02244",
)

model = dict(type="TorchvisionDetector", architecture="ssdlite320_mobilenet_v3_large", num_classes=91)
checkpoint = "torchvision://SSDLite320_MobileNet_V3_Large_Weights.COCO_V1"
# torchvision's transform stretches every image to this square: its resize, which stays in the graph, is the identity.
preprocess = dict(size=(320, 320), resize="stretch", interpolation="bilinear")
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
