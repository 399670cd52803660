"""Classifiers of timm: TimmClassifier."""

from own_model_classifiers import classifier

ANY_SIZE = (
    *("caformer_s18", "convformer_s18", "convmixer_768_32", "convnext_atto", "convnextv2_atto", "cspdarknet53"),
    *("cspresnext50", "darknet17", "davit_tiny", "densenet121", "dpn48b", "eca_nfnet_l0", "edgenext_xx_small"),
    *("efficientnet_lite0", "efficientvit_b0", "ese_vovnet19b_slim_dw", "fasternet_t0", "fastvit_t8", "fbnetc_100"),
    *("focalnet_tiny_srf", "ghostnet_050", "ghostnetv2_100", "hardcorenas_a", "hgnet_tiny", "hgnetv2_b0"),
    *("inception_next_atto", "lcnet_035", "mambaout_femto", "mixnet_s", "mnasnet_small", "mobilenetv2_035"),
    *("mobilenetv3_small_050", "mobilenetv4_conv_small_035", "mobileone_s0", "mobilevit_xxs", "mobilevitv2_050"),
    *("nextvit_small", "poolformer_s12", "poolformerv2_s12", "pvt_v2_b0", "rdnet_tiny", "regnetx_002", "regnety_002"),
    *("repvgg_a0", "repvit_m0_9", "res2net50_14w_8s", "resnet10t", "resnetv2_18", "rexnet_100", "selecsls42b"),
    *("semnasnet_050", "seresnet18", "shvit_s1", "skresnet18", "spnasnet_100", "starnet_s1", "test_nfnet"),
    *("tf_efficientnetv2_b0", "tiny_vit_5m_224", "tinynet_e", "xception41"),
)
MULTIPLES = {"dla46_c": 32, "hrnet_w18_small": 32}  # of what their sizes must be
ONE_SIZE = {  # built for a size of their own, which is the default of their option img_size
    "crossvit_tiny_240": 240,
    **dict.fromkeys(("maxvit_pico_rw_256", "swinv2_tiny_window8_256"), 256),
    **dict.fromkeys(
        (
            *("cait_xxs24_224", "coat_tiny", "coatnet_nano_rw_224", "convit_tiny", "deit_tiny_distilled_patch16_224"),
            *("efficientformer_l1", "efficientformerv2_s0", "efficientvit_m0", "eva02_tiny_patch14_224"),
            *("gcvit_xxtiny", "gmlp_ti16_224", "hiera_tiny_224", "levit_128s", "mixer_s32_224", "nest_tiny"),
            *("pit_ti_224", "resmlp_12_224", "swiftformer_xs", "swin_tiny_patch4_window7_224", "swinv2_cr_tiny_ns_224"),
            *("twins_svt_small", "visformer_tiny", "vit_tiny_patch16_224", "vitamin_small_224", "volo_d1_224"),
            "xcit_nano_12_p16_224",
        ),
        224,
    ),
}
KIND = "TimmClassifier"
CASES = {
    **{name: classifier(KIND, name) for name in ANY_SIZE},
    **{name: classifier(KIND, name, second=(128, 160), size_divisor=divisor) for name, divisor in MULTIPLES.items()},
    **{name: classifier(KIND, name, (size, size), None) for name, size in ONE_SIZE.items()},
    "vit_tiny_patch16_224, any size": classifier(
        KIND, "vit_tiny_patch16_224", second=(112, 144), dynamic_img_size=True, size_divisor=16
    ),
}
