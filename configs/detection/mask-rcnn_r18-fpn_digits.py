"""torchvision's MaskRCNN on a narrow ResNet-18 feature pyramid."""

_base_ = ["../_base_/digits_instances.py", "../_base_/digits_rcnn.py"]

card = dict(
    what="torchvision's MaskRCNN on a narrow ResNet-18 feature pyramid",
    paper="Mask R-CNN, He et al., 2017, https://arxiv.org/abs/1703.06870",
    licence="Apache-2.0",
)

model = dict(
    type="MaskRCNN",
    backbone=dict(base_channels=12, out_channels=48),
    box_head_channels=128,
    mask_channels=(48, 48),
    box_batch_size_per_image=64,
)
checkpoint = "../../zoo/weights/mask-rcnn_r18-fpn_digits.safetensors"
train = dict(backbone="../../zoo/weights/retinanet_r18-fpn_digits.safetensors")
export = dict(
    rewriters=[
        "torchvision.GeneralizedRCNN.forward",
        "torchvision.GeneralizedRCNNTransform.forward",
        "torchvision.GeneralizedRCNNTransform.postprocess",
        "torchvision.RegionProposalNetwork.forward",
        "torchvision.MultiScaleRoIAlign.forward",
        "torchvision.RoIHeads.forward",
        "torchvision.RoIHeads.postprocess_detections",
    ],
)
