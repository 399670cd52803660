"""torchvision's R-CNNs with masks or keypoints for the digits."""

_base_ = ["digits_rcnn.py"]

model = dict(
    backbone=dict(base_channels=12, out_channels=48),
    box_head_channels=128,
    box_batch_size_per_image=64,
)
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
