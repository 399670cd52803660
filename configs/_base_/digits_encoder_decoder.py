"""An EncoderDecoder on the narrow, dilated ResNet-18 of the digits, over the whole image at once."""

_base_ = ["./digits_segmentation.py"]

model = dict(
    type="EncoderDecoder",
    backbone=dict(type="ResNet18", base_channels=16, strides=(1, 2, 1, 1), dilations=(1, 1, 2, 4)),
    decode_head=dict(num_classes=11, dropout_ratio=0.05),
    test_cfg=dict(mode="whole"),
)
preprocess = dict(size=(256, 320), resize="letterbox", interpolation="bilinear", pad_value=114)
train = dict(
    batch_size=16, seed=0, optimizer=dict(type="AdamW", lr=2e-3, weight_decay=0.02), warmup=60, crop=(192, 192)
)
export = dict(
    exporter="dynamo",
    opset=20,
    inputs=dict(batch=(1, 2, 8)),
    forward=dict(mode="tensor"),
    output_level="final",
    rewriters=[],
)
