"""The UPerNet of upernet_r18_digits.py with deformable convolutions in the last stage of its backbone."""

_base_ = ["./upernet_r18_digits.py"]

card = dict(
    what="upernet_r18_digits with modulated deformable convolutions in its last stage; no better, trained alike",
    paper="Deformable ConvNets v2: More Deformable, Better Results, Zhu et al., 2018, https://arxiv.org/abs/1811.11168",
    licence="Apache-2.0",
)

model = dict(backbone=dict(deformable=(False, False, False, True)))
checkpoint = "../../zoo/weights/upernet_dcn-r18_digits.safetensors"
