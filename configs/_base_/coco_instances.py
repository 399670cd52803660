"""COCO's objects as instances: boxes and masks."""

_base_ = ["coco_detection.py"]

task = dict(type="InstanceSegmentation")
dataset = dict(type="CocoInstances")
evaluator = dict(type="CocoMaskAP")
