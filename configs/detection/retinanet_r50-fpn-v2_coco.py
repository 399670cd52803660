"""torchvision's retinanet_resnet50_fpn_v2, trained on COCO."""

_base_ = [
    "../_base_/coco_detection.py",
    "../_base_/torchvision_retina_net.py",
    "../_base_/torchvision_weights.py",
]

card = dict(
    what="torchvision's RetinaNet on a ResNet-50 feature pyramid, second version",
    paper="Bridging the Gap Between Anchor-based and Anchor-free Detection, Zhang et al., 2019, https://arxiv.org/abs/1912.02424",
)

model = dict(type="TorchvisionDetector", architecture="retinanet_resnet50_fpn_v2", num_classes=91)
checkpoint = "torchvision://RetinaNet_ResNet50_FPN_V2_Weights.COCO_V1"
