"""DeepLabV3+ on the narrow, dilated ResNet-18 of the FCN."""

_base_ = ["../_base_/digits_encoder_decoder.py"]

card = dict(
    what="DeepLabV3+ on the narrow, dilated ResNet-18 of the FCN",
    paper="Encoder-Decoder with Atrous Separable Convolution for Semantic Image Segmentation, Chen et al., 2018, "
    "https://arxiv.org/abs/1802.02611",
    licence="Apache-2.0",
)

model = dict(
    decode_head=dict(
        type="DepthwiseSeparableASPPHead",
        in_channels=128,
        in_index=3,
        channels=48,
        dilations=(1, 2, 4, 6),
        c1_in_channels=16,
        c1_channels=24,
    )
)
checkpoint = "../../zoo/weights/deeplabv3plus_r18_digits.safetensors"
train = dict(backbone="../../zoo/weights/fcn_r18_digits.safetensors", iterations=600, scale=(0.8, 1.4))
