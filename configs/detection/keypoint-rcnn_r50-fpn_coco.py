"""torchvision's keypointrcnn_resnet50_fpn, trained on COCO."""

_base_ = [
    "../_base_/coco_keypoints.py",
    "../_base_/torchvision_rcnn_branches.py",
    "../_base_/torchvision_weights.py",
]

card = dict(
    what="torchvision's KeypointRCNN on a ResNet-50 feature pyramid",
    paper="Mask R-CNN, He et al., 2017, https://arxiv.org/abs/1703.06870",
)

# torchvision's builder freezes the backbone's batch norm for pretrained weights alone, and takes the eps 0 for these.
model = dict(type="TorchvisionDetector", architecture="keypointrcnn_resnet50_fpn", num_classes=2, frozen_batch_norm=0.0)
checkpoint = "torchvision://KeypointRCNN_ResNet50_FPN_Weights.COCO_V1"
