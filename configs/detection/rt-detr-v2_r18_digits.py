"""RT-DETR v2 of transformers on a narrow ResNet-18: 50 queries and three decoder layers."""

_base_ = ["../_base_/digits_detection.py"]

card = dict(
    what="RT-DETR v2 of transformers on a narrow ResNet-18: 50 queries, three decoder layers",
    paper="RT-DETRv2: Improved Baseline with Bag-of-Freebies for Real-Time Detection Transformer, Lv et al., 2024, "
    "https://arxiv.org/abs/2407.17140",
    licence="Apache-2.0",
)

task = dict(classes=[dict(name=str(digit), category_id=digit + 1) for digit in range(10)])
model = dict(
    type="TransformersDetector",
    num_classes=10,
    architecture=dict(
        model_type="rt_detr_v2",
        backbone_config=dict(
            model_type="resnet",
            layer_type="basic",
            embedding_size=16,
            hidden_sizes=(16, 32, 64, 128),
            depths=(2, 2, 2, 2),
            out_features=("stage3", "stage4"),
        ),
        freeze_backbone_batch_norms=False,
        encoder_in_channels=(64, 128),
        feat_strides=(16, 32),
        encode_proj_layers=(1,),
        encoder_hidden_dim=96,
        encoder_ffn_dim=256,
        encoder_attention_heads=4,
        hidden_expansion=0.5,
        d_model=96,
        decoder_in_channels=(96, 96),
        num_feature_levels=2,
        decoder_n_levels=2,
        decoder_ffn_dim=256,
        decoder_attention_heads=3,
        decoder_layers=3,
        num_queries=50,
        num_denoising=30,
    ),
)
checkpoint = "../../zoo/weights/rt-detr-v2_r18_digits.safetensors"
train = dict(
    backbone="../../zoo/weights/faster-rcnn_r18-fpn_digits.safetensors",  # start from its backbone
    iterations=4000,
    batch_size=4,
    scale=(0.75, 1.2),
    optimizer=dict(type="AdamW", lr=6e-4, weight_decay=0.02),
    warmup=100,
    max_grad_norm=1.0,
    seed=0,
)
export = dict(
    exporter="dynamo",
    opset=20,
    inputs=dict(batch=(1, 2, 8)),
    output_level="final",
    rewriters=[],
)
