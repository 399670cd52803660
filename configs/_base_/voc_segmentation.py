"""PASCAL VOC 2012 as a semantic segmentation task: 20 classes and the background. Index = the label maps' value."""

# As torchvision's weights name them in meta["categories"], but for its "__background__".
_names = (
    "background", "aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow",
    "diningtable", "dog", "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor",
)  # fmt: skip
task = dict(
    type="SemanticSegmentation",
    classes=[dict(name=name, category_id=index) for index, name in enumerate(_names)],
)
dataset = dict(type="VOCSegmentation", root="../../data/VOCdevkit/VOC2012", split="val")
evaluator = dict(type="MeanIoU", num_classes=21)
