"""SRCNN whose scale is an input: one file for two, three and four times, in all three colours."""

_base_ = ["../_base_/photographs_super_resolution.py"]

card = dict(
    what="SRCNN (9-1-5, residual) on RGB, its features modulated by the scale, 2, 3 or 4, an input at run time",
    paper="Learning a Deep Convolutional Network for Image Super-Resolution, Dong et al., 2014, "
    "https://arxiv.org/abs/1501.00092",
    licence="Apache-2.0",
)

model = dict(type="AnyScaleSRCNN", scales=(2, 3, 4), scale=3, channels="rgb")
checkpoint = "../../zoo/weights/srcnn_any-scale_photographs.safetensors"
dataset = dict(type="PhotographCrops", scales=(2, 3, 4))  # the figures are means over the three
gate_dataset = dict(type="PhotographCrops", scales=(2, 3, 4))  # there are no more
calibration_dataset = dict(type="TrainingPhotographCrops", scales=(2, 3, 4))
evaluator = dict(type="ImageQuality", crop_border=4)
export = dict(
    rewriters=["zoo.models.restoration.any_scale_srcnn.scaled_size"],
    precision=dict(int8=dict(keep_fp32=["conv1"])),  # zooport what-if: 0.13 dB are lost with it, 0.04 without
)
train = dict(iterations=6000, batch_size=8)
