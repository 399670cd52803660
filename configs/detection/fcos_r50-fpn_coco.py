"""torchvision's fcos_resnet50_fpn, trained on COCO."""

_base_ = [
    "../_base_/coco_detection.py",
    "../_base_/torchvision_weights.py",
]

card = dict(
    what="torchvision's FCOS on a ResNet-50 feature pyramid",
    paper="FCOS: A Simple and Strong Anchor-free Object Detector, Tian et al., 2020, https://arxiv.org/abs/2006.09214",
)

# torchvision's builder freezes the backbone's batch norm for pretrained weights alone.
model = dict(type="TorchvisionDetector", architecture="fcos_resnet50_fpn", num_classes=91, frozen_batch_norm=1e-5)
checkpoint = "torchvision://FCOS_ResNet50_FPN_Weights.COCO_V1"
# The sides that torchvision's own transform makes of a landscape image (min_size 800, max_size 1333): its resize,
# which stays in the graph, is the identity then. Of a portrait image it makes more than fits in here.
preprocess = dict(size=(800, 1333), resize="letterbox", interpolation="bilinear", pad_value=114)
export = dict(
    exporter="dynamo",
    opset=20,
    inputs=dict(batch=(1, 2, 4)),
    output_level="final",
    rewriters=[
        "torchvision.FCOS.forward",
        "torchvision.FCOS.postprocess_detections",
        "torchvision.GeneralizedRCNNTransform.forward",
        "torchvision.GeneralizedRCNNTransform.postprocess",
    ],
)
