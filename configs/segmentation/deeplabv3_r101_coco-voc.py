"""torchvision's deeplabv3_resnet101, trained on the images of COCO with VOC's classes."""

_base_ = [
    "../_base_/voc_segmentation.py",
    "../_base_/torchvision_segmentor.py",
    "../_base_/torchvision_weights.py",
]

card = dict(
    what="torchvision's DeepLabV3 on a dilated ResNet-101",
    paper="Rethinking Atrous Convolution for Semantic Image Segmentation, Chen et al., 2017, https://arxiv.org/abs/1706.05587",
)

model = dict(type="TorchvisionSegmentor", architecture="deeplabv3_resnet101", num_classes=21, aux_loss=True)
checkpoint = "torchvision://DeepLabV3_ResNet101_Weights.COCO_WITH_VOC_LABELS_V1"
