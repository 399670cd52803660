"""The digits on small images, for a backend that computes slowly."""

_base_ = ["../../../configs/segmentation/fcn_r18_digits.py"]

custom_imports = dict(imports=["onnx_reference"])
checkpoint = "../../../zoo/weights/fcn_r18_digits.safetensors"
preprocess = dict(size=(64, 96))
export = dict(engine=dict(only_finite=True, workspace_mib=64))  # of two backends: each takes its own
