"""--amp: the forward pass runs in half precision, the weights do not."""

import pytest
import torch
from mmengine.optim import OptimWrapper
from torch import Tensor, nn

from pipeline.training import optimization
from pipeline.training.optimization import BFloat16OptimWrapper, optim_wrapper
from zoo.errors import InputError


class Seeing(nn.Linear):
    """A layer that keeps the dtype of what it gave."""

    seen: torch.dtype

    def forward(self, values: Tensor) -> Tensor:
        output = super().forward(values)
        self.seen = output.dtype
        return output


@pytest.mark.parametrize(("kind", "dtype"), [(OptimWrapper, torch.float32), (BFloat16OptimWrapper, torch.bfloat16)])
def test_a_step_on_the_cpu(kind: type[OptimWrapper], dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmengine.runner.amp.get_device", lambda: "cpu")
    layer = Seeing(4, 1)
    before = layer.weight.clone()
    wrapper = kind(torch.optim.SGD(layer.parameters(), lr=0.1))
    with wrapper.optim_context(layer):
        loss = layer(torch.ones(2, 4)).float().square().mean()
    wrapper.update_params(loss)
    assert layer.seen == dtype
    assert layer.weight.dtype == torch.float32
    assert not torch.equal(layer.weight, before)
    assert not torch.is_autocast_enabled("cpu")


@pytest.mark.parametrize(
    ("device", "amp", "kind"),
    [
        ("cpu", False, "OptimWrapper"),
        ("cuda", False, "OptimWrapper"),
        ("mps", False, "OptimWrapper"),
        ("cpu", True, BFloat16OptimWrapper),
        ("cuda", True, "AmpOptimWrapper"),
    ],
)
def test_the_wrapper_of_a_device(device: str, amp: bool, kind: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimization, "get_device", lambda: device)
    assert optim_wrapper(amp=amp)["type"] == kind


def test_float16_needs_its_losses_scaled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its gradients vanish below 6e-8, where the others have the range of float32."""
    monkeypatch.setattr(optimization, "get_device", lambda: "cuda")
    assert optim_wrapper(amp=True) == {"type": "AmpOptimWrapper", "dtype": "float16", "loss_scale": "dynamic"}


def test_a_device_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimization, "get_device", lambda: "mps")
    with pytest.raises(InputError, match="--amp: mmengine trains on mps here, which has no mixed precision"):
        optim_wrapper(amp=True)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_step_on_cuda() -> None:
    """Of weights that give an output of 0.25, whose scaled gradients float16 can hold: a step that is not left out."""
    from mmengine.optim import build_optim_wrapper

    layer = Seeing(4, 1).cuda()
    for parameter in layer.parameters():
        nn.init.constant_(parameter, 0.05)
    wrapper = build_optim_wrapper(layer, {**optim_wrapper(amp=True), "optimizer": {"type": "SGD", "lr": 0.1}})
    with wrapper.optim_context(layer):
        loss = layer(torch.ones(2, 4, device="cuda")).float().square().mean()
    wrapper.update_params(loss)
    assert layer.seen == torch.float16
    assert wrapper.loss_scaler.is_enabled()
    assert wrapper.loss_scaler.get_scale() > 1
    assert layer.weight.dtype == torch.float32
    # the gradient of the mean square is 2 * 0.25, not scaled any more, and the rate 0.1
    torch.testing.assert_close(layer.weight, torch.zeros(1, 4, device="cuda"), atol=1e-3, rtol=0)
