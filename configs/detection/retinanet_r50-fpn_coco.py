"""torchvision's retinanet_resnet50_fpn, trained on COCO."""

_base_ = [
    "../_base_/coco_detection.py",
    "../_base_/torchvision_retina_net.py",
    "../_base_/torchvision_weights.py",
]

card = dict(
    what="torchvision's RetinaNet on a ResNet-50 feature pyramid",
    paper="Focal Loss for Dense Object Detection, Lin et al., 2017, https://arxiv.org/abs/1708.02002",
)

# torchvision's builder freezes the backbone's batch norm for pretrained weights alone, and takes the eps 0 for these.
model = dict(type="TorchvisionDetector", architecture="retinanet_resnet50_fpn", num_classes=91, frozen_batch_norm=0.0)
checkpoint = "torchvision://RetinaNet_ResNet50_FPN_Weights.COCO_V1"
