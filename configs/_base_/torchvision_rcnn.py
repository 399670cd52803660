"""The input and the export of torchvision's R-CNNs that find boxes."""

# The sides that torchvision's own transform makes of a landscape image (min_size 800, max_size 1333): its resize,
# which stays in the graph, is the identity then. Of a portrait image it makes more than fits in here.
preprocess = dict(size=(800, 1333), resize="letterbox", interpolation="bilinear", pad_value=114)
export = dict(
    exporter="dynamo",
    opset=20,
    inputs=dict(batch=(1, 2, 4)),
    output_level="final",
    rewriters=[
        "torchvision.GeneralizedRCNN.forward",
        "torchvision.GeneralizedRCNNTransform.forward",
        "torchvision.GeneralizedRCNNTransform.postprocess",
        "torchvision.RegionProposalNetwork.forward",
        "torchvision.MultiScaleRoIAlign.forward",
        "torchvision.RoIHeads.postprocess_detections",
    ],
)
