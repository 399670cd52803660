"""MultiheadAttention in parts: the original's numbers, and any batch and number of tokens in ONNX Runtime."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from rewriters import rewriting
from tests.examples import examples
from tests.rewriters.small_models import export, fixed_target, run, without_rewriter
from zoo.errors import ExportError
from zoo.target import AxisRange, Target
from zoo.tensor_spec import TensorSpec

NAME = "torch.MultiheadAttention.forward"
ORIGINAL = nn.MultiheadAttention.forward
CHANNELS, HEADS, STRIDE = 8, 2, 8
TARGET = fixed_target(32, 48, exporter="torchscript").with_(height=AxisRange(16, 32, 64), width=AxisRange(16, 48, 64))
SPECS = [TensorSpec("tokens", "float32", ("batch", "tokens_1", CHANNELS))]


class Attention(nn.Module):
    """images [N, 3, H, W] -> tokens [N, H/8 * W/8, 8] that have looked at all of them, or at every other one."""

    def __init__(self, *, cross: bool) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, CHANNELS, STRIDE, STRIDE)
        self.attention = nn.MultiheadAttention(CHANNELS, HEADS, batch_first=True)
        self.cross = cross

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        tokens = self.patches(images).flatten(2).transpose(1, 2)
        seen = tokens[:, ::2] if self.cross else tokens
        return (self.attention(tokens, seen, seen, need_weights=False)[0],)


def attention(*, cross: bool) -> nn.Module:
    torch.manual_seed(0)
    return Attention(cross=cross).eval()


def exported(module: nn.Module, path: Path, target: Target = TARGET, **options: Any) -> None:
    export(module, target, path, SPECS, **options)


def test_the_originals_numbers() -> None:
    with rewriting(TARGET, eager=True) as session:

        @examples(15, 60)
        @given(
            heads=st.sampled_from([1, 2, 4]),
            cross=st.booleans(),
            batch_first=st.booleans(),
            bias=st.booleans(),
            need_weights=st.booleans(),
            average=st.booleans(),
            tokens=st.integers(1, 20),
        )
        def check(
            heads: int, cross: bool, batch_first: bool, bias: bool, need_weights: bool, average: bool, tokens: int
        ) -> None:
            torch.manual_seed(tokens)
            module = nn.MultiheadAttention(CHANNELS, heads, bias=bias, batch_first=batch_first).eval()
            query, key = (
                torch.randn(3, count, CHANNELS) if batch_first else torch.randn(count, 3, CHANNELS)
                for count in (tokens, 7)
            )
            inputs = (query, key, 2 * key) if cross else (query, query, query)
            options = {"need_weights": need_weights, "average_attn_weights": average}
            hits = session.hits[NAME]
            with torch.no_grad():
                expected = ORIGINAL(module, *inputs, **options)
                got = module(*inputs, **options)
            assert session.hits[NAME] == hits + 1
            for ours, theirs in zip(got, expected, strict=True):
                if theirs is None:
                    assert ours is None
                else:
                    torch.testing.assert_close(ours, theirs, atol=2e-6, rtol=0)

        check()


PADDED = torch.tensor([[False, False, True, False], [False, True, False, True]])
APART = torch.rand(4, 4, generator=torch.Generator().manual_seed(0)) > 0.7
BY_HEAD = torch.rand(2 * HEADS, 4, 4, generator=torch.Generator().manual_seed(1)) > 0.7


@pytest.mark.filterwarnings("ignore:Support for mismatched:UserWarning")  # torch's own, of masks of two kinds
@pytest.mark.parametrize(
    "masks",
    [
        {"key_padding_mask": PADDED},
        {"attn_mask": APART},
        {"attn_mask": torch.where(APART, -2.0, 0.0)},
        {"attn_mask": BY_HEAD},
        {"attn_mask": torch.where(BY_HEAD, -2.0, 0.0), "key_padding_mask": PADDED},
    ],
)
def test_masks(masks: dict[str, Tensor]) -> None:
    torch.manual_seed(0)
    module = nn.MultiheadAttention(CHANNELS, HEADS, batch_first=True).eval()
    x = torch.rand(2, 4, CHANNELS)
    with torch.no_grad(), rewriting(TARGET, eager=True) as session:
        expected = ORIGINAL(module, x, x, x, **masks)
        got = module(x, x, x, **masks)
    assert session.hits[NAME] == 1
    for ours, theirs in zip(got, expected, strict=True):
        torch.testing.assert_close(ours, theirs, atol=2e-6, rtol=0, equal_nan=True)


def test_a_row_without_any_key_is_torchs_own() -> None:
    """Between two sequences, and without weights, torch's attention gives zeros; else NaN."""
    torch.manual_seed(0)
    module = nn.MultiheadAttention(CHANNELS, HEADS, batch_first=True).eval()
    x, key, padded = torch.rand(2, 4, CHANNELS), torch.rand(2, 3, CHANNELS), torch.tensor([[False] * 3, [True] * 3])
    with torch.no_grad(), rewriting(TARGET, eager=True) as session:
        expected, _ = ORIGINAL(module, x, key, key, key_padding_mask=padded, need_weights=False)
        got, _ = module(x, key, key, key_padding_mask=padded, need_weights=False)
    assert session.hits[NAME] == 1
    torch.testing.assert_close(got, expected, atol=2e-6, rtol=0)


def test_causal_attention_is_left_to_the_original() -> None:
    module = nn.MultiheadAttention(CHANNELS, HEADS, batch_first=True).eval()
    x, mask = torch.rand(2, 4, CHANNELS), nn.Transformer.generate_square_subsequent_mask(4)
    with rewriting(TARGET, eager=True) as session:
        module(x, x, x, attn_mask=mask, is_causal=True)
    assert session.hits[NAME] == 0


@pytest.mark.parametrize("cross", [False, True])
def test_any_batch_and_size_in_onnxruntime(cross: bool, tmp_path: Path) -> None:
    module, path = attention(cross=cross), tmp_path / "m.onnx"
    exported(module, path)
    for count, height, width in ((2, 32, 48), (1, 64, 24), (3, 24, 56)):
        images = torch.rand(count, 3, height, width)
        with torch.no_grad():
            expected = module(images)[0].numpy()
        np.testing.assert_allclose(run(path, images)[0], expected, atol=1e-6)


def test_needed_without_it_self_attention_is_refused(tmp_path: Path) -> None:
    """Rule 6. Seen with torch 2.15."""
    with without_rewriter(NAME), pytest.raises(ExportError, match="aten::_native_multi_head_attention"):
        exported(attention(cross=False), tmp_path / "m.onnx")


def test_needed_without_it_the_number_of_tokens_is_frozen(tmp_path: Path) -> None:
    """Rule 6. Seen with torch 2.15 and ONNX Runtime 1.31: the file declares a dynamic size and takes no other."""
    path = tmp_path / "m.onnx"
    with without_rewriter(NAME):
        exported(attention(cross=True), path, other_sizes=False)
    assert run(path, torch.rand(3, 3, 32, 48))[0].shape == (3, 24, CHANNELS)
    with pytest.raises(Exception, match="Reshape"):
        run(path, torch.rand(2, 3, 24, 56))
