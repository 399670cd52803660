"""The input and the export of torchvision's R-CNNs with masks or keypoints."""

_base_ = ["torchvision_rcnn.py"]

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
