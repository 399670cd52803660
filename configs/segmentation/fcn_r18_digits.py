"""FCN on a narrow, dilated ResNet-18, over the whole image at once."""

_base_ = ["../_base_/digits_segmentation.py"]

card = dict(
    what="FCN on a narrow, dilated ResNet-18, over the whole image at once",
    paper="Fully Convolutional Networks for Semantic Segmentation, Long et al., 2015, https://arxiv.org/abs/1411.4038",
    licence="Apache-2.0",
)

model = dict(
    type="EncoderDecoder",
    backbone=dict(type="ResNet18", base_channels=16, strides=(1, 2, 1, 1), dilations=(1, 1, 2, 4)),
    decode_head=dict(
        type="FCNHead", in_channels=(16, 32, 128), in_index=(0, 1, 3), channels=48, num_classes=11, dropout_ratio=0.05
    ),
    test_cfg=dict(mode="whole"),
)
checkpoint = "../../zoo/weights/fcn_r18_digits.safetensors"  # serves fcn_r18-slide_digits.py, too
preprocess = dict(size=(256, 320), resize="letterbox", interpolation="bilinear", pad_value=114)

# Crops at scales from those of this config (256x320) to those of the slide config (384x480): one checkpoint for both.
train = dict(
    batch_size=16,
    pretrain=dict(iterations=1200, batch_size=128, side=64, lr=3e-3),
    iterations=1000,
    crop=(192, 192),
    scale=(0.8, 1.7),
    seed=0,
    optimizer=dict(type="AdamW", lr=2e-3, weight_decay=0.02),
    warmup=60,
    also=("fcn_r18-slide_digits.py",),
)
export = dict(
    exporter="dynamo",
    opset=20,
    inputs=dict(batch=(1, 2, 8)),
    forward=dict(mode="tensor"),
    output_level="final",
    rewriters=[],
)
