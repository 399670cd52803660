"""PointPillars, narrow, for synthetic streets. Its weights are not trained yet, so it is no config of the zoo."""

task = {
    "type": "Detection3D",
    "classes": [{"name": name, "category_id": number} for number, name in enumerate(("car", "pedestrian", "cyclist"))],
}
model = {
    "type": "PointPillars",
    "num_classes": 3,
    "point_range": (0.0, -20.48, -3.0, 40.96, 20.48, 1.0),
    "pillar_size": 0.32,
    "pillar_channels": 32,
    "channels": (32, 64, 96),
    "depths": (2, 3, 3),
    "strides": (1, 2, 2),
    "up_channels": (48, 48, 48),
    "anchors": [
        {"size": (3.9, 1.63, 1.53), "z": -0.965, "matched": 0.6, "unmatched": 0.45},
        {"size": (0.8, 0.6, 1.73), "z": -0.865, "matched": 0.4, "unmatched": 0.25},
        {"size": (1.76, 0.6, 1.73), "z": -0.865, "matched": 0.5, "unmatched": 0.35},
    ],
    "score_thresh": 0.1,
    "nms_thresh": 0.1,
    "topk_candidates": 100,
    "detections_per_img": 50,
}
preprocess = {"intensity": (0.0, 1.0)}
train_dataset = {"type": "Streets", "split": "train"}
dataset = {"type": "Streets", "split": "shipped"}
gate_dataset = {"type": "Streets", "split": "gate"}
evaluator = {"type": "KittiAP"}
checkpoint = "weights/pointpillars_streets.safetensors"
train = {
    "iterations": 3600,
    "batch_size": 4,
    "optimizer": {"type": "AdamW", "lr": 2e-3, "weight_decay": 0.01},
    "warmup": 200,
    "mirror": True,
    "turn": 20.0,
    "scale": (0.95, 1.05),
    "seed": 0,
}
export = {
    "exporter": "dynamo",
    "opset": 20,
    "inputs": {"batch": (1, 2, 4), "count": (1, 16384, 32768)},
    "output_level": "final",
    "rewriters": ["zoo.PillarEncoder.forward", "zoo.PointPillars.postprocess_detections"],
}
