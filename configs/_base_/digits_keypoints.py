"""The digits as objects with keypoints: where the visible stroke reaches furthest into each corner."""

_base_ = ["digits_detection.py"]

task = dict(type="KeypointDetection")
dataset = dict(type="DigitsKeypoints")
gate_dataset = dict(type="DigitsKeypoints")
evaluator = dict(type="CocoKeypointAP", sigmas=(0.079,) * 4)  # COCO's of shoulders
