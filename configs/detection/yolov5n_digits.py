"""YOLOv5n with anchors of the digits' sizes."""

_base_ = ["../_base_/digits_detection.py"]

card = dict(
    what="YOLOv5n, written from its published architecture",
    paper="YOLOv5, Jocher, 2020, https://docs.ultralytics.com/yolov5/tutorials/architecture_description/",
    licence="Apache-2.0",
)

task = dict(classes=[dict(name=str(digit), category_id=digit + 1) for digit in range(10)])
# The anchors are the k-means of the boxes' sides in the training split, rounded.
model = dict(
    type="YOLOv5",
    num_classes=10,
    anchors=[[(26, 42), (34, 48), (34, 58)], [(44, 56), (40, 68), (50, 66)], [(50, 80), (62, 78), (74, 100)]],
    score_thresh=0.05,
    nms_thresh=0.5,
    topk_candidates=1000,
    detections_per_img=100,
)
checkpoint = "../../zoo/weights/yolov5n_digits.safetensors"
train = dict(
    pretrain=dict(iterations=600, batch_size=128, side=64, lr=3e-3),
    iterations=2600,
    batch_size=8,
    scale=(0.75, 1.2),
    optimizer=dict(type="AdamW", lr=2e-3, weight_decay=0.02),
    warmup=100,
    seed=0,
)
export = dict(
    exporter="dynamo",
    opset=20,
    inputs=dict(batch=(1, 2, 8)),
    output_level="final",
    rewriters=["zoo.YOLOv5.postprocess_detections"],
    precision=dict(int8=dict(keep_fp32=["model.24"])),  # its boxes do not bear int8
)
