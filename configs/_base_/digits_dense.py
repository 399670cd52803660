"""torchvision's dense detectors for the digits: what RetinaNet, FCOS and SSDLite have in common."""

model = dict(
    num_classes=11,
    backbone=dict(base_channels=12, first_stage=2),
    score_thresh=0.05,
    detections_per_img=100,
)
train = dict(
    batch_size=8,
    scale=(0.75, 1.2),
    seed=0,
    optimizer=dict(type="AdamW", weight_decay=0.02),
    warmup=50,
)
export = dict(
    exporter="dynamo",
    opset=20,
    inputs=dict(batch=(1, 2, 8)),
    output_level="final",
)
