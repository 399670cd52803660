"""The reference runner."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from backends.pytorch.runner import PyTorchRunner
from zoo.errors import BackendUnavailableError, InputError
from zoo.tensor_spec import TensorSpec

X = TensorSpec("x", "float32", ("N", 3))
Y = TensorSpec("y", "float32", ("N", 3))


class InPlace(nn.Module):
    """Spoils its input, and gives a buffer away."""

    held: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("held", torch.zeros(3))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x.add_(1), self.held


def test_inputs_and_buffers_are_never_shared() -> None:
    module = InPlace().eval()
    runner = PyTorchRunner(module, [X], [Y, TensorSpec("held", "float32", (3,))])
    given = np.zeros((2, 3), np.float32)
    given.setflags(write=False)
    outputs = runner.run({"x": given})
    outputs["held"][:] = 7
    np.testing.assert_array_equal(given, np.zeros((2, 3)))
    np.testing.assert_array_equal(outputs["y"], np.ones((2, 3)))
    assert module.held.tolist() == [0, 0, 0]


def test_a_single_tensor_is_one_output_and_no_gradient_is_kept() -> None:
    module = nn.Linear(3, 3).eval()
    output = PyTorchRunner(module, [X], [Y]).run({"x": np.ones((2, 3), np.float32)})["y"]
    np.testing.assert_allclose(output, module(torch.ones(2, 3)).detach().numpy(), rtol=1e-6)


def test_train_mode_is_refused_before_and_after() -> None:
    module = nn.Sequential(nn.Linear(3, 3), nn.Dropout())
    with pytest.raises(InputError, match=r"Sequential: module \(itself\) is in train mode.*call .eval\(\)"):
        PyTorchRunner(module, [X], [Y])
    runner = PyTorchRunner(module.eval(), [X], [Y])
    module[1].train()
    with pytest.raises(InputError, match="Sequential: module 1 is in train mode"):
        runner.run({"x": np.ones((2, 3), np.float32)})


def test_wrong_number_of_outputs() -> None:
    runner = PyTorchRunner(InPlace().eval(), [X], [Y])
    with pytest.raises(InputError, match=r"InPlace gave 2 values, expected 1 tensors: y float32 \[N, 3\]"):
        runner.run({"x": np.ones((2, 3), np.float32)})


def test_closed() -> None:
    runner = PyTorchRunner(nn.Identity().eval(), [X], [Y])
    runner.close()
    with pytest.raises(InputError, match="closed"):
        runner.run({"x": np.ones((2, 3), np.float32)})


def test_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(BackendUnavailableError, match=r'torch is not installed; pip install "zooport\[export\]"'):
        PyTorchRunner(nn.Identity().eval(), [X], [Y])
