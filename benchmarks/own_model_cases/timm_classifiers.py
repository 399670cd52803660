"""Classifiers of timm, of different kinds: TimmClassifier."""

from own_model_classifiers import classifier

MADE_OF = (
    *("zoo/models/timm", "zoo/tasks/image_classification", "rewriters/timm"),
    "benchmarks/own_model_classifiers.py",
)
ANY_SIZE = (  # not convmixer_768_32: with random weights a change of an image by 1e-7 moves its scores by 2e-3
    *("caformer_s18", "convmixer_1024_20_ks9_p14", "convnext_atto", "convnextv2_atto", "cspdarknet53"),
    *("densenet121", "dpn48b", "eca_nfnet_l0", "edgenext_xx_small", "efficientnet_lite0", "efficientvit_b0"),
    *("fasternet_t0", "fastvit_t8", "focalnet_tiny_srf", "ghostnet_050", "hgnetv2_b0", "inception_next_atto"),
    *("lcnet_035", "mambaout_femto", "mixnet_s", "mobilenetv3_small_050", "mobilenetv4_conv_small_035"),
    *("mobileone_s0", "mobilevit_xxs", "mobilevitv2_050", "poolformer_s12", "pvt_v2_b0", "regnety_002", "repvgg_a0"),
    *("res2net50_14w_8s", "resnet10t", "rexnet_100", "starnet_s1", "xception41"),
)
SLOW_SYMBOLS = ("davit_tiny",)  # torch.export computes with its symbolic sizes for many minutes: it gets one size
MULTIPLES = {"hrnet_w18_small": 32}  # of what their sizes must be
ONE_SIZE = {  # built for a size of their own, which is the default of their option img_size
    "maxvit_pico_rw_256": 256,
    **dict.fromkeys(
        (
            *("coatnet_nano_rw_224", "convit_tiny", "eva02_tiny_patch14_224", "levit_128s", "mixer_s32_224"),
            *("swin_tiny_patch4_window7_224", "vit_tiny_patch16_224", "xcit_nano_12_p16_224"),
        ),
        224,
    ),
}
KIND = "TimmClassifier"
CASES = {
    **{name: classifier(KIND, name) for name in ANY_SIZE},
    **{name: classifier(KIND, name, second=(128, 160), size_divisor=divisor) for name, divisor in MULTIPLES.items()},
    **{name: classifier(KIND, name, second=None) for name in SLOW_SYMBOLS},
    **{name: classifier(KIND, name, (size, size), None) for name, size in ONE_SIZE.items()},
    "vit_tiny_patch16_224, any size": classifier(
        KIND, "vit_tiny_patch16_224", second=(112, 144), dynamic_img_size=True, size_divisor=16
    ),
}
