"""benchmarks/openmmlab_coverage.py: the page of which each environment measures a part."""

from pathlib import Path

import pytest


@pytest.mark.usefixtures("benchmarks")
def test_the_section_of_a_codebase_that_is_not_installed_stays(tmp_path: Path) -> None:
    from measured import write_page
    from openmmlab_coverage import Row, sections_of, table

    page = tmp_path / "page.md"
    assert sections_of(page) == {}
    sections = {"mmseg": table("mmseg", [Row("a.py", "A", "translated")]), "mmdet": table("mmdet", [])}
    write_page(page, "Configs", "An introduction.", "script.py", "\n\n".join(sections.values()))
    assert sections_of(page) == sections
    assert "1 configs, 1 translated; 100.0 % are taken." in sections_of(page)["mmseg"]


BASE = """
norm_cfg = dict(type="SyncBN", requires_grad=True)
data_preprocessor = dict(
    type="SegDataPreProcessor", mean=[123.675, 116.28, 103.53], std=[58.395, 57.12, 57.375], bgr_to_rgb=True, pad_val=0
)
model = dict(
    type="EncoderDecoder",
    data_preprocessor=data_preprocessor,
    pretrained="open-mmlab://nowhere",
    backbone=dict(
        type="ResNetV1c", depth=18, base_channels=8, stem_channels=8, num_stages=4, out_indices=(0, 1, 2, 3),
        strides=(1, 2, 2, 2), dilations=(1, 1, 1, 1), norm_cfg=norm_cfg, style="pytorch"),
    decode_head=dict(
        type="FCNHead", in_channels=64, in_index=3, channels=8, num_classes=19, norm_cfg=norm_cfg, align_corners=False),
    train_cfg=dict(),
    test_cfg=dict(mode="whole"))
test_pipeline = [
    dict(type="LoadImageFromFile"),
    dict(type="Resize", scale=(2048, 1024), keep_ratio=True),
    dict(type="LoadAnnotations"),
    dict(type="PackSegInputs")]
default_scope = "mmseg"
"""
CONFIGS = {
    "fcn.py": "",
    "psp-slide.py": """
model = dict(
    decode_head=dict(type="PSPHead", pool_scales=(1, 2, 3, 6)),
    test_cfg=dict(mode="slide", crop_size=(512, 512), stride=(341, 341)))
""",
    "uper-150-classes.py": """
model = dict(
    decode_head=dict(
        type="UPerHead", in_channels=[8, 16, 32, 64], in_index=[0, 1, 2, 3], pool_scales=(1, 2, 3, 6), num_classes=150))
""",
    "segformer.py": """
model = dict(
    backbone=dict(
        _delete_=True, type="MixVisionTransformer", embed_dims=8, num_layers=[1, 1, 1, 1], num_heads=[1, 2, 4, 8]),
    decode_head=dict(
        _delete_=True, type="SegformerHead", in_channels=[8, 16, 32, 64], in_index=[0, 1, 2, 3], channels=16,
        dropout_ratio=0.1, num_classes=19, norm_cfg=dict(type="SyncBN"), align_corners=False))
""",
    "cascade-ocr.py": """
_base_.model.type = "CascadeEncoderDecoder"
head = _base_.model.decode_head
model = dict(
    num_stages=2, decode_head=[head, dict(_base_.model.decode_head, type="OCRHead", channels=16, ocr_channels=8)])
""",
    "mirrored.py": 'test_pipeline = [dict(type="LoadImageFromFile"), dict(type="RandomFlip", prob=0.5)]\n',
}


@pytest.mark.usefixtures("benchmarks")
@pytest.mark.parametrize("name", CONFIGS)
def test_configs_in_mmsegmentations_form_are_translated_and_built(name: str, tmp_path: Path) -> None:
    """By zooport's own parts alone; mmsegmentation need not be installed."""
    from openmmlab_coverage import REFUSED, TRANSLATED, row_of

    from zoo.codebases import known_codebases

    (tmp_path / "_base_").mkdir()
    (tmp_path / "_base_" / "fcn.py").write_text(BASE)
    path = tmp_path / name
    path.write_text(f"_base_ = ['./_base_/fcn.py']\n{CONFIGS[name]}")
    row = row_of(known_codebases()["mmseg"], path, tmp_path)
    if name == "mirrored.py":
        assert (row.verdict, "RandomFlip mirrors images in the test" in row.reason) == (REFUSED, True)
    else:
        assert (row.verdict, row.reason) == (TRANSLATED, "")
