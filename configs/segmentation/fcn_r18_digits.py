"""FCN on a narrow, dilated ResNet-18, over the whole image at once."""

_base_ = ["../_base_/digits_encoder_decoder.py"]

card = dict(
    what="FCN on a narrow, dilated ResNet-18, over the whole image at once",
    paper="Fully Convolutional Networks for Semantic Segmentation, Long et al., 2015, https://arxiv.org/abs/1411.4038",
    licence="Apache-2.0",
)

model = dict(decode_head=dict(type="FCNHead", in_channels=(16, 32, 128), in_index=(0, 1, 3), channels=48))
checkpoint = "../../zoo/weights/fcn_r18_digits.safetensors"  # serves fcn_r18-slide_digits.py, too

# Crops at scales from those of this config (256x320) to those of the slide config (384x480): one checkpoint for both.
train = dict(
    pretrain=dict(iterations=1200, batch_size=128, side=64, lr=3e-3),
    iterations=1000,
    scale=(0.8, 1.7),
    also=("fcn_r18-slide_digits.py",),
)
