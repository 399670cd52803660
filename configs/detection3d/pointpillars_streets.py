"""PointPillars, narrow: anchors on a canvas of pillars; synthetic streets."""

_base_ = ["../_base_/streets_detection3d.py"]

card = dict(
    what="narrow PointPillars; points to boxes in one graph",
    paper="PointPillars: Fast Encoders for Object Detection from Point Clouds, Lang et al., 2019, https://arxiv.org/abs/1812.05784",
    licence="Apache-2.0",
)

model = dict(
    type="PointPillars",
    num_classes=3,
    point_range=(0.0, -20.48, -3.0, 40.96, 20.48, 1.0),
    pillar_size=0.32,
    pillar_channels=32,
    channels=(32, 64, 96),
    depths=(2, 3, 3),
    strides=(1, 2, 2),
    up_channels=(48, 48, 48),
    anchors=[
        dict(size=(3.9, 1.63, 1.53), z=-0.965, matched=0.6, unmatched=0.45),
        dict(size=(0.8, 0.6, 1.73), z=-0.865, matched=0.4, unmatched=0.25),
        dict(size=(1.76, 0.6, 1.73), z=-0.865, matched=0.5, unmatched=0.35),
    ],
    score_thresh=0.1,
    nms_thresh=0.1,
    topk_candidates=100,
    detections_per_img=50,
)
checkpoint = "../../zoo/weights/pointpillars_streets.safetensors"
train = dict(iterations=2400)
export = dict(rewriters=["zoo.PillarEncoder.forward", "zoo.PointPillars.postprocess_detections"])
