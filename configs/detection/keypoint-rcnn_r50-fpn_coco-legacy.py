"""torchvision's keypointrcnn_resnet50_fpn with the weights of an earlier training on COCO."""

_base_ = ["./keypoint-rcnn_r50-fpn_coco.py"]

card = dict(what="torchvision's KeypointRCNN on a ResNet-50 feature pyramid, weights of an earlier training")

# torchvision's builder takes the eps 0 for COCO_V1 alone.
model = dict(frozen_batch_norm=1e-5)
checkpoint = "torchvision://KeypointRCNN_ResNet50_FPN_Weights.COCO_LEGACY"
