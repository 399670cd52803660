"""PSPNet on the narrow, dilated ResNet-18 of the FCN; its map at 1/8 of the image wants a larger tensor."""

_base_ = ["../_base_/digits_segmentation.py"]

card = dict(
    what="PSPNet on the narrow, dilated ResNet-18 of the FCN",
    paper="Pyramid Scene Parsing Network, Zhao et al., 2017, https://arxiv.org/abs/1612.01105",
    licence="Apache-2.0",
)

model = dict(
    type="EncoderDecoder",
    backbone=dict(type="ResNet18", base_channels=16, strides=(1, 2, 1, 1), dilations=(1, 1, 2, 4)),
    decode_head=dict(type="PSPHead", in_channels=128, in_index=3, channels=32, num_classes=11, dropout_ratio=0.05),
    test_cfg=dict(mode="whole"),
)
checkpoint = "../../zoo/weights/pspnet_r18_digits.safetensors"
preprocess = dict(size=(384, 480), resize="letterbox", interpolation="bilinear", pad_value=114)

train = dict(
    batch_size=16,
    backbone="../../zoo/weights/fcn_r18_digits.safetensors",
    iterations=600,
    crop=(224, 224),
    scale=(0.8, 1.3),
    seed=0,
    optimizer=dict(type="AdamW", lr=2e-3, weight_decay=0.02),
    warmup=60,
)
export = dict(
    exporter="dynamo",
    opset=20,
    inputs=dict(batch=(1, 2, 8)),
    forward=dict(mode="tensor"),
    output_level="final",
    rewriters=[],
)
