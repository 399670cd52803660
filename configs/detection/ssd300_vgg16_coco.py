"""torchvision's ssd300_vgg16, trained on COCO."""

_base_ = [
    "../_base_/coco_detection.py",
    "../_base_/torchvision_weights.py",
]

card = dict(
    what="torchvision's SSD300 on VGG-16",
    paper="SSD: Single Shot MultiBox Detector, Liu et al., 2015, https://arxiv.org/abs/1512.02325",
)

model = dict(type="TorchvisionDetector", architecture="ssd300_vgg16", num_classes=91)
checkpoint = "torchvision://SSD300_VGG16_Weights.COCO_V1"
# torchvision's transform stretches every image to this square: its resize, which stays in the graph, is the identity.
preprocess = dict(size=(300, 300), resize="stretch", interpolation="bilinear")
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
