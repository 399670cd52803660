"""The U-Net of segmentation_models_pytorch on the narrow ResNet-18 of the UPerNet."""

_base_ = ["../_base_/digits_segmentation.py"]

card = dict(
    what="The U-Net of segmentation_models_pytorch on the narrow ResNet-18 of the UPerNet",
    paper="U-Net: Convolutional Networks for Biomedical Image Segmentation, Ronneberger et al., 2015, "
    "https://arxiv.org/abs/1505.04597",
    licence="Apache-2.0",
)

model = dict(
    type="SmpSegmentor",
    architecture="Unet",
    encoder="zoo-resnet18",
    decoder_channels=(64, 48, 32, 24, 12),
    num_classes=11,
)
checkpoint = "../../zoo/weights/unet_r18_digits.safetensors"
preprocess = dict(size=(256, 320), resize="letterbox", interpolation="bilinear", pad_value=114)
train = dict(
    backbone="../../zoo/weights/upernet_r18_digits.safetensors",
    iterations=1500,
    batch_size=8,
    crop=(160, 160),
    scale=(0.8, 1.3),
    optimizer=dict(type="AdamW", lr=2e-3, weight_decay=0.02),
    warmup=60,
    seed=0,
)
export = dict(
    exporter="dynamo",
    opset=20,
    inputs=dict(batch=(1, 2, 8)),
    output_level="final",
    rewriters=[],
)
