"""FCOS for rotated boxes on a narrow ResNet-18 feature pyramid; the digits in turned images."""

card = dict(
    what="FCOS with an angle for each place, on a narrow ResNet-18 feature pyramid",
    paper="FCOS: Fully Convolutional One-Stage Object Detection, Tian et al., 2019, https://arxiv.org/abs/1904.01355",
    licence="Apache-2.0",
)

task = dict(
    type="RotatedDetection",
    angle="le90",
    classes=[dict(name=str(digit), category_id=digit + 1) for digit in range(10)],
)
dataset = dict(type="RotatedDigits", split="val")
gate_dataset = dict(type="RotatedDigits", split="gate")
calibration_dataset = dict(type="RotatedDigitsTrainingScenes")
evaluator = dict(type="DotaMAP")
preprocess = dict(size=(320, 320), resize="letterbox", interpolation="bilinear", pad_value=114)
model = dict(
    type="RotatedFCOS",
    num_classes=10,
    backbone=dict(base_channels=12, out_channels=64, first_stage=2),
    limits=(32, 64, 128),
    head_convs=2,
    head_norm_groups=16,
    score_thresh=0.05,
    nms_thresh=0.3,
    topk_candidates=100,
    detections_per_img=100,
)
checkpoint = "../../zoo/weights/rotated-fcos_r18-fpn_digits.safetensors"
train = dict(
    iterations=1000,
    batch_size=8,
    scale=(0.75, 1.2),
    optimizer=dict(type="AdamW", lr=1.5e-3, weight_decay=0.02),
    warmup=50,
    seed=0,
    backbone="../../zoo/weights/retinanet_r18-fpn_digits.safetensors",
)
export = dict(
    exporter="dynamo",
    opset=20,
    inputs=dict(batch=(1, 2, 8)),
    output_level="final",
    rewriters=["zoo.RotatedFCOS.postprocess_detections"],
)
