"""The input and the export of torchvision's RetinaNets."""

# The sides that torchvision's own transform makes of a landscape image (min_size 800, max_size 1333): its resize,
# which stays in the graph, is the identity then. Of a portrait image it makes more than fits in here.
preprocess = dict(size=(800, 1333), resize="letterbox", interpolation="bilinear", pad_value=114)
export = dict(
    exporter="dynamo",
    opset=20,
    inputs=dict(batch=(1, 2, 4)),
    output_level="final",
    rewriters=[
        "torchvision.GeneralizedRCNNTransform.forward",
        "torchvision.GeneralizedRCNNTransform.postprocess",
        "torchvision.RetinaNet.forward",
        "torchvision.RetinaNet.postprocess_detections",
    ],
)
