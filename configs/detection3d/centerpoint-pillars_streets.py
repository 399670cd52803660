"""CenterPoint on pillars, narrow: a heat map of centres; synthetic streets."""

_base_ = ["../_base_/streets_detection3d.py"]

card = dict(
    what="narrow CenterPoint on pillars; points to boxes in one graph",
    paper="Center-based 3D Object Detection and Tracking, Yin et al., 2021, https://arxiv.org/abs/2006.11275",
    licence="Apache-2.0",
)

model = dict(
    type="CenterPoint",
    num_classes=3,
    point_range=(0.0, -20.48, -3.0, 40.96, 20.48, 1.0),
    pillar_size=0.32,
    pillar_channels=32,
    channels=(32, 64, 96),
    depths=(2, 3, 3),
    strides=(2, 2, 2),
    up_channels=(48, 48, 48),
    head_channels=32,
    score_thresh=0.1,
    nms_thresh=0.1,
    topk_candidates=100,
    detections_per_img=50,
)
checkpoint = "../../zoo/weights/centerpoint-pillars_streets.safetensors"
train = dict(iterations=9000)
export = dict(rewriters=["zoo.PillarEncoder.forward", "zoo.CenterPoint.postprocess_detections"])
