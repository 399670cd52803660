"""COCO as a detection task: the 91 ids of its annotations, ten of which no class has. Index = the id."""

# As torchvision's weights name them in meta["categories"]; "N/A" are the ids without a class.
_names = (
    "__background__", "person", "bicycle", "car", "motorcycle", "airplane", "bus", "train", "truck", "boat",
    "traffic light", "fire hydrant", "N/A", "stop sign", "parking meter", "bench", "bird", "cat", "dog", "horse",
    "sheep", "cow", "elephant", "bear", "zebra", "giraffe", "N/A", "backpack", "umbrella", "N/A", "N/A", "handbag",
    "tie", "suitcase", "frisbee", "skis", "snowboard", "sports ball", "kite", "baseball bat", "baseball glove",
    "skateboard", "surfboard", "tennis racket", "bottle", "N/A", "wine glass", "cup", "fork", "knife", "spoon",
    "bowl", "banana", "apple", "sandwich", "orange", "broccoli", "carrot", "hot dog", "pizza", "donut", "cake",
    "chair", "couch", "potted plant", "bed", "N/A", "dining table", "N/A", "N/A", "toilet", "N/A", "tv", "laptop",
    "mouse", "remote", "keyboard", "cell phone", "microwave", "oven", "toaster", "sink", "refrigerator", "N/A",
    "book", "clock", "vase", "scissors", "teddy bear", "hair drier", "toothbrush",
)  # fmt: skip
_no_class = ("__background__", "N/A")
task = dict(
    type="Detection",
    classes=[dict(name=name, category_id=None if name in _no_class else index) for index, name in enumerate(_names)],
)
dataset = dict(
    type="CocoDetection",
    images="../../data/coco/val2017",
    annotations="../../data/coco/annotations/instances_val2017.json",
)
evaluator = dict(type="CocoBoxAP")
