"""PointPillars, narrow: anchors on a canvas of pillars; synthetic streets."""

_base_ = ["../_base_/streets_detection3d.py"]

card = dict(
    what="narrow PointPillars; points to boxes in one graph",
    paper="PointPillars: Fast Encoders for Object Detection from Point Clouds, Lang et al., 2019, https://arxiv.org/abs/1812.05784",
    licence="Apache-2.0",
)

model = dict(
    type="PointPillars",
    strides=(1, 2, 2),
    anchors=[
        dict(size=(3.9, 1.63, 1.53), z=-0.965, matched=0.6, unmatched=0.45),
        dict(size=(0.8, 0.6, 1.73), z=-0.865, matched=0.4, unmatched=0.25),
        dict(size=(1.76, 0.6, 1.73), z=-0.865, matched=0.5, unmatched=0.35),
    ],
)
checkpoint = "../../zoo/weights/pointpillars_streets.safetensors"
train = dict(iterations=2400)
export = dict(
    rewriters=["zoo.PillarEncoder.forward", "zoo.PointPillars.postprocess_detections"],
    precision=dict(int8=dict(keep_fp32=["encoder", "trunk.ups", "head"])),  # 8 bits of 41 m are 0.16 m
)
