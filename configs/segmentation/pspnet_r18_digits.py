"""PSPNet on the narrow, dilated ResNet-18 of the FCN; its map at 1/8 of the image wants a larger tensor."""

_base_ = ["../_base_/digits_encoder_decoder.py"]

card = dict(
    what="PSPNet on the narrow, dilated ResNet-18 of the FCN",
    paper="Pyramid Scene Parsing Network, Zhao et al., 2017, https://arxiv.org/abs/1612.01105",
    licence="Apache-2.0",
)

model = dict(decode_head=dict(type="PSPHead", in_channels=128, in_index=3, channels=32))
checkpoint = "../../zoo/weights/pspnet_r18_digits.safetensors"
preprocess = dict(size=(384, 480))
train = dict(backbone="../../zoo/weights/fcn_r18_digits.safetensors", iterations=600, crop=(224, 224), scale=(0.8, 1.3))
