"""Synthetic streets as a 3D detection task, and what the narrow detectors on pillars for them share."""

task = dict(
    type="Detection3D",
    classes=[dict(name=name, category_id=number) for number, name in enumerate(("car", "pedestrian", "cyclist"))],
)
train_dataset = dict(type="Streets", split="train")
dataset = dict(type="Streets", split="shipped")
gate_dataset = dict(type="Streets", split="gate")
calibration_dataset = dict(type="Streets", split="train", count=256)
evaluator = dict(type="KittiAP")
preprocess = dict(intensity=(0.0, 1.0))
model = dict(
    num_classes=3,
    point_range=(0.0, -20.48, -3.0, 40.96, 20.48, 1.0),
    pillar_size=0.32,
    pillar_channels=32,
    channels=(32, 64, 96),
    depths=(2, 3, 3),
    up_channels=(48, 48, 48),
    score_thresh=0.1,
    nms_thresh=0.1,
    topk_candidates=100,
    detections_per_img=50,
)
train = dict(
    batch_size=4,
    optimizer=dict(type="AdamW", lr=2e-3, weight_decay=0.01),
    warmup=200,
    mirror=True,
    turn=20.0,
    scale=(0.95, 1.05),
    seed=0,
)
export = dict(
    exporter="dynamo",
    opset=20,
    inputs=dict(batch=(1, 2, 4), count=(1, 16384, 32768)),
    output_level="final",
)
