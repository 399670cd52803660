"""A very narrow ResNet-18 that tells which digit is at the middle of an image."""

_base_ = ["../_base_/digits_classification.py"]

card = dict(
    what="A very narrow ResNet-18 that tells which digit is at the middle of an image",
    paper="Deep Residual Learning for Image Recognition, He et al., 2015, https://arxiv.org/abs/1512.03385",
    licence="Apache-2.0",
)

model = dict(type="ImageClassifier", backbone=dict(type="ResNet18", base_channels=8), in_channels=64, num_classes=10)
preprocess = dict(size=(64, 64), resize="letterbox", interpolation="bilinear", pad_value=114)
checkpoint = "../../zoo/weights/resnet18_digits.safetensors"
train = dict(
    iterations=1500,
    batch_size=128,
    seed=0,
    optimizer=dict(type="AdamW", lr=3e-3, weight_decay=0.02),
    warmup=50,
)
export = dict(
    exporter="dynamo",
    opset=20,
    inputs=dict(batch=(1, 2, 8)),
    forward=dict(),
    output_level="final",
    rewriters=[],
)
