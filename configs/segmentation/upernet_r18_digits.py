"""UPerNet on the narrow ResNet-18 of the FCN, without its dilation."""

_base_ = ["../_base_/digits_encoder_decoder.py"]

card = dict(
    what="UPerNet on the narrow ResNet-18 of the FCN, without its dilation",
    paper="Unified Perceptual Parsing for Scene Understanding, Xiao et al., 2018, https://arxiv.org/abs/1807.10221",
    licence="Apache-2.0",
)

model = dict(
    backbone=dict(_delete_=True, type="ResNet18", base_channels=16),
    decode_head=dict(type="UPerHead", in_channels=(16, 32, 64, 128), in_index=(0, 1, 2, 3), channels=24),
)
checkpoint = "../../zoo/weights/upernet_r18_digits.safetensors"
train = dict(backbone="../../zoo/weights/fcn_r18_digits.safetensors", iterations=800, scale=(0.8, 1.4))
