"""torchvision's fcn_resnet101, trained on the images of COCO with VOC's classes."""

_base_ = [
    "../_base_/voc_segmentation.py",
    "../_base_/torchvision_segmentor.py",
    "../_base_/torchvision_weights.py",
]

card = dict(
    what="torchvision's FCN on a dilated ResNet-101",
    paper="Fully Convolutional Networks for Semantic Segmentation, Long et al., 2015, https://arxiv.org/abs/1411.4038",
)

model = dict(type="TorchvisionSegmentor", architecture="fcn_resnet101", num_classes=21, aux_loss=True)
checkpoint = "torchvision://FCN_ResNet101_Weights.COCO_WITH_VOC_LABELS_V1"
