"""SRCNN, three times, of the luma alone."""

_base_ = ["../_base_/photographs_super_resolution.py"]

card = dict(
    what="SRCNN (9-1-5, residual) on the luma, three times larger",
    paper="Learning a Deep Convolutional Network for Image Super-Resolution, Dong et al., 2014, "
    "https://arxiv.org/abs/1501.00092",
    licence="Apache-2.0",
)

model = dict(type="SRCNN", scale=3, channels="y")
checkpoint = "../../zoo/weights/srcnn_x3_photographs.safetensors"
dataset = dict(type="PhotographCrops", scale=3)
gate_dataset = dict(type="PhotographCrops", scale=3)  # there are no more
calibration_dataset = dict(type="TrainingPhotographCrops", scale=3)
evaluator = dict(type="ImageQuality", crop_border=3)
train = dict(iterations=4000)
