"""The digits as instances: boxes, and masks of the visible strokes."""

_base_ = ["digits_detection.py"]

task = dict(type="InstanceSegmentation")
dataset = dict(type="DigitsInstances")
gate_dataset = dict(type="DigitsInstances")
evaluator = dict(type="CocoMaskAP")
