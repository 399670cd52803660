"""Synthetic streets as a 3D detection task: clouds of a simulated LiDAR, boxes of cars, pedestrians and cyclists."""

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
