"""torchvision's fasterrcnn_resnet50_fpn_v2, trained on COCO."""

_base_ = [
    "../_base_/coco_detection.py",
    "../_base_/torchvision_rcnn.py",
    "../_base_/torchvision_weights.py",
]

card = dict(
    what="torchvision's FasterRCNN on a ResNet-50 feature pyramid, second version",
    paper="Benchmarking Detection Transfer Learning with Vision Transformers, Li et al., 2021, https://arxiv.org/abs/2111.11429",
)

model = dict(type="TorchvisionDetector", architecture="fasterrcnn_resnet50_fpn_v2", num_classes=91)
checkpoint = "torchvision://FasterRCNN_ResNet50_FPN_V2_Weights.COCO_V1"
