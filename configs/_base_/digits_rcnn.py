"""torchvision's R-CNNs for the digits: sizes, thresholds, numbers of proposals, and the rewriters that must fire."""

# min_size and max_size are the sides that preprocess makes: torchvision's own resize stays the identity.
model = dict(
    num_classes=11,
    anchor_sizes=(16, 32, 64, 128, 256),
    min_size=256,
    max_size=320,
    rpn_pre_nms_top_n_test=1000,
    rpn_post_nms_top_n_test=300,
    box_score_thresh=0.05,
    box_nms_thresh=0.5,
    box_detections_per_img=100,
    rpn_pre_nms_top_n_train=1000,
    rpn_post_nms_top_n_train=300,
    rpn_batch_size_per_image=128,
)
train = dict(
    batch_size=8,
    iterations=750,
    scale=(0.75, 1.2),
    seed=0,
    optimizer=dict(type="AdamW", lr=1.2e-3, weight_decay=0.02),
    warmup=50,
)
export = dict(
    exporter="dynamo",
    opset=20,
    inputs=dict(batch=(1, 2, 8)),
    output_level="final",
    rewriters=[
        "torchvision.GeneralizedRCNN.forward",
        "torchvision.GeneralizedRCNNTransform.forward",
        "torchvision.GeneralizedRCNNTransform.postprocess",
        "torchvision.RegionProposalNetwork.forward",
        "torchvision.MultiScaleRoIAlign.forward",
        "torchvision.RoIHeads.postprocess_detections",
    ],
)
