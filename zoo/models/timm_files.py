"""Arguments of timm's create_model that name files of weights, which a config's checkpoint takes the place of."""

NAMES_FILES = ("checkpoint_path", "pretrained", "pretrained_cfg", "pretrained_cfg_overlay", "cache_dir")
REASON = "timm would read files of its own, and the config's checkpoint has all weights"
