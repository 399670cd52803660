"""CenterPoint on pillars, narrow: a heat map of centres; synthetic streets."""

_base_ = ["../_base_/streets_detection3d.py"]

card = dict(
    what="narrow CenterPoint on pillars; points to boxes in one graph",
    paper="Center-based 3D Object Detection and Tracking, Yin et al., 2021, https://arxiv.org/abs/2006.11275",
    licence="Apache-2.0",
)

model = dict(type="CenterPoint", strides=(2, 2, 2), head_channels=32)
checkpoint = "../../zoo/weights/centerpoint-pillars_streets.safetensors"
train = dict(iterations=6000)
export = dict(
    rewriters=["zoo.PillarEncoder.forward", "zoo.CenterPoint.postprocess_detections"],
    precision=dict(int8=dict(keep_fp32=["encoder", "trunk.blocks.0", "head"])),  # 8 bits of 41 m are 0.16 m
)
