"""torchvision's fasterrcnn_resnet50_fpn, trained on COCO."""

_base_ = [
    "../_base_/coco_detection.py",
    "../_base_/torchvision_rcnn.py",
    "../_base_/torchvision_weights.py",
]

card = dict(
    what="torchvision's FasterRCNN on a ResNet-50 feature pyramid",
    paper="Faster R-CNN, Ren et al., 2015, https://arxiv.org/abs/1506.01497",
)

# torchvision's builder freezes the backbone's batch norm for pretrained weights alone, and takes the eps 0 for these.
model = dict(type="TorchvisionDetector", architecture="fasterrcnn_resnet50_fpn", num_classes=91, frozen_batch_norm=0.0)
checkpoint = "torchvision://FasterRCNN_ResNet50_FPN_Weights.COCO_V1"
