"""torchvision's lraspp_mobilenet_v3_large, trained on the images of COCO with VOC's classes."""

_base_ = [
    "../_base_/voc_segmentation.py",
    "../_base_/torchvision_segmentor.py",
    "../_base_/torchvision_weights.py",
]

card = dict(
    what="torchvision's LR-ASPP on a dilated MobileNetV3-Large",
    paper="Searching for MobileNetV3, Howard et al., 2019, https://arxiv.org/abs/1905.02244",
)

model = dict(type="TorchvisionSegmentor", architecture="lraspp_mobilenet_v3_large", num_classes=21)
checkpoint = "torchvision://LRASPP_MobileNet_V3_Large_Weights.COCO_WITH_VOC_LABELS_V1"
