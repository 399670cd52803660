"""CenterPoint on pillars, narrow, for synthetic streets. Its weights are not trained yet: no config of the zoo."""

_base_ = ["pointpillars_streets.py"]

model = {
    "_delete_": True,
    "type": "CenterPoint",
    "num_classes": 3,
    "point_range": (0.0, -20.48, -3.0, 40.96, 20.48, 1.0),
    "pillar_size": 0.32,
    "pillar_channels": 32,
    "channels": (32, 64, 96),
    "depths": (2, 3, 3),
    "strides": (2, 2, 2),
    "up_channels": (48, 48, 48),
    "head_channels": 32,
    "score_thresh": 0.1,
    "nms_thresh": 0.1,
    "topk_candidates": 100,
    "detections_per_img": 50,
}
checkpoint = "weights/centerpoint-pillars_streets.safetensors"
train = {"iterations": 9000}
export = {"rewriters": ["zoo.PillarEncoder.forward", "zoo.CenterPoint.postprocess_detections"]}
