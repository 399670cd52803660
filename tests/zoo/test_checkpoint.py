"""Checkpoints from every kind of source, and every way in which one is refused."""

import hashlib
import pickle
import types
import zipfile
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn
from torchvision import models
from torchvision.ops.misc import FrozenBatchNorm2d

from zoo.checkpoint import load_checkpoint
from zoo.errors import InputError


def model(width: int = 4, seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Conv2d(3, width, 3), nn.BatchNorm2d(width))


def same(a: nn.Module, b: nn.Module, atol: float = 0.0) -> bool:
    mine, theirs = a.state_dict(), b.state_dict()
    return all(torch.allclose(mine[key].float(), theirs[key].float(), atol=atol) for key in mine)


class Malicious:
    """Unpickling it writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (str(self.path), "w")


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """torch's download folder, with a network that must not be asked."""
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path / "hub"))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    folder = tmp_path / "hub" / "checkpoints"
    folder.mkdir(parents=True)
    return folder


def test_half_precision_safetensors_are_widened(tmp_path: Path) -> None:
    source = model(seed=1)
    half = {key: value.half() if value.is_floating_point() else value for key, value in source.state_dict().items()}
    save_file(half, tmp_path / "w.safetensors")
    loaded = model(seed=2)
    load_checkpoint(loaded, tmp_path / "w.safetensors")
    assert same(loaded, source, atol=1e-3)
    assert next(loaded.parameters()).dtype == torch.float32


@pytest.mark.parametrize("key", ["state_dict", "model"])
def test_averaged_weights_that_are_not_read_are_named(
    key: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    plain, loaded = model(seed=1), model(seed=2)
    torch.save({key: plain.state_dict(), f"{key}_ema": model(seed=3).state_dict()}, tmp_path / "w.pth")
    load_checkpoint(loaded, tmp_path / "w.pth")
    assert same(loaded, plain)
    assert f'w.pth: "{key}" is read, and not the averaged weights, "{key}_ema"; for those, save them' in caplog.text
    caplog.clear()
    torch.save({key: plain.state_dict()}, tmp_path / "w.pth")
    load_checkpoint(loaded, tmp_path / "w.pth")
    assert not caplog.text


@pytest.mark.parametrize("wrap", [None, "state_dict", "model", "model_state_dict"])
def test_torch_files_of_tensors(wrap: str | None, tmp_path: Path) -> None:
    source = model(seed=1)
    content = source.state_dict() if wrap is None else {wrap: source.state_dict(), "epoch": 3}
    torch.save(content, tmp_path / "w.pth")
    loaded = model(seed=2)
    load_checkpoint(loaded, tmp_path / "w.pth")
    assert same(loaded, source)


@pytest.mark.parametrize(
    "prefix", ["model.", "module.", "module.model.", "_orig_mod.", "module._orig_mod.", "_orig_mod.module."]
)
def test_a_prefix_of_all_names_is_taken_off(prefix: str, tmp_path: Path) -> None:
    source = model(seed=1)
    torch.save({prefix + name: tensor for name, tensor in source.state_dict().items()}, tmp_path / "w.pth")
    loaded = model(seed=2)
    load_checkpoint(loaded, tmp_path / "w.pth")
    assert same(loaded, source)


def test_averaged_weights_as_torch_saves_them(tmp_path: Path) -> None:
    source, loaded = model(seed=1), model(seed=2)
    torch.save(torch.optim.swa_utils.AveragedModel(source).state_dict(), tmp_path / "w.pth")
    load_checkpoint(loaded, tmp_path / "w.pth")
    assert same(loaded, source)


def test_a_prefix_that_is_the_models_own_stays(tmp_path: Path) -> None:
    source, loaded = (nn.ModuleDict({"model": model(seed=seed)}) for seed in (1, 2))
    torch.save(source.state_dict(), tmp_path / "w.pth")
    load_checkpoint(loaded, tmp_path / "w.pth")
    assert same(loaded, source)


def test_a_prefix_that_is_before_the_models_own_is_taken_off(tmp_path: Path) -> None:
    source, loaded = (nn.ModuleDict({"model": model(seed=seed)}) for seed in (1, 2))
    torch.save({f"module.model.{name}": tensor for name, tensor in source.state_dict().items()}, tmp_path / "w.pth")
    load_checkpoint(loaded, tmp_path / "w.pth")
    assert same(loaded, source)


def test_a_prefix_of_some_names_stays(tmp_path: Path) -> None:
    torch.save({"model.0.weight": torch.zeros(1), "0.bias": torch.zeros(4)}, tmp_path / "w.pth")
    with pytest.raises(InputError, match=r"1 unknown \(model\.0\.weight\)"):
        load_checkpoint(model(), tmp_path / "w.pth")


def test_a_missing_batch_counter_is_forgiven(tmp_path: Path) -> None:
    state = {key: value for key, value in model().state_dict().items() if not key.endswith("num_batches_tracked")}
    torch.save(state, tmp_path / "w.pth")
    load_checkpoint(model(seed=2), tmp_path / "w.pth")


def test_a_batch_counter_of_frozen_batch_norm_is_forgiven(tmp_path: Path) -> None:
    """torchvision's FrozenBatchNorm2d drops it, too."""
    source = model(seed=1)
    torch.save(source.state_dict(), tmp_path / "w.pth")
    loaded = nn.Sequential(nn.Conv2d(3, 4, 3), FrozenBatchNorm2d(4))
    load_checkpoint(loaded, tmp_path / "w.pth")
    assert same(loaded, source)


OTHER_DTYPES = ("int8", "uint8", "int64", "bool", "complex64", "float8_e4m3fn", "float8_e5m2")


@pytest.mark.parametrize("ending", ["safetensors", "pth"])
@pytest.mark.parametrize("dtype", OTHER_DTYPES)
def test_weights_of_another_kind_of_number_are_refused(tmp_path: Path, ending: str, dtype: str) -> None:
    state = model(seed=1).state_dict()
    state["1.running_var"] = state["1.running_var"].to(getattr(torch, dtype))
    path = tmp_path / f"w.{ending}"
    if ending == "safetensors":
        save_file(state, path)
    else:
        torch.save(state, path)
    loaded = model(seed=2)
    words = f'checkpoint {path}: tensor "1.running_var" is {"complex" if dtype == "complex64" else dtype}'
    with pytest.raises(InputError, match=f"^{words}.*, expected (float16 or bfloat16 or float32 or float64|a plain)"):
        load_checkpoint(loaded, path)
    assert same(loaded, model(seed=2))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_weights_may_be_stored_in_other_floating_point_dtypes(tmp_path: Path, dtype: str) -> None:
    source = model(seed=1)
    save_file(
        {name: tensor.to(getattr(torch, dtype)) for name, tensor in source.state_dict().items()},
        tmp_path / "w.safetensors",
    )
    loaded = model(seed=2)
    load_checkpoint(loaded, tmp_path / "w.safetensors")  # batch norm's counter among them
    assert same(loaded, source, atol=2e-2)
    assert loaded.state_dict()["1.num_batches_tracked"].dtype == torch.int64


class Buffers(nn.Module):
    """Buffers that are no floating-point numbers by right."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.register_buffer("index", torch.arange(4) + seed)
        self.register_buffer("mask", torch.arange(4) % 2 == seed % 2)
        self.register_buffer("turns", torch.full((2,), complex(seed, 1)))


def test_whole_numbers_flags_and_complex_numbers_load_as_what_they_are(tmp_path: Path) -> None:
    state = Buffers(1).state_dict()
    save_file({**state, "index": state["index"].to(torch.int32)}, tmp_path / "w.safetensors")
    loaded = Buffers(0)
    load_checkpoint(loaded, tmp_path / "w.safetensors")
    assert all(torch.equal(tensor, state[name]) for name, tensor in loaded.state_dict().items())


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("index", torch.zeros(4), "float32, expected int64"),
        ("index", torch.zeros(4, dtype=torch.bool), "bool, expected int64"),
        ("mask", torch.zeros(4, dtype=torch.uint8), "uint8, expected bool"),
        ("turns", torch.zeros(2), "float32, expected complex64"),
    ],
)
def test_buffers_of_another_dtype_are_refused(tmp_path: Path, name: str, value: torch.Tensor, words: str) -> None:
    save_file({**Buffers(1).state_dict(), name: value}, tmp_path / "w.safetensors")
    with pytest.raises(InputError, match=f'tensor "{name}" is {words}; give the checkpoint as it was trained'):
        load_checkpoint(Buffers(0), tmp_path / "w.safetensors")


def test_pickled_code_is_refused_and_not_run(tmp_path: Path) -> None:
    torch.save({"state_dict": model().state_dict(), "extra": Malicious(tmp_path / "owned")}, tmp_path / "w.pth")
    with pytest.raises(
        InputError, match=r"holds pickled Python objects.*could run code.*save only model\.state_dict\(\)"
    ):
        load_checkpoint(model(), tmp_path / "w.pth")
    assert not (tmp_path / "owned").exists()


@pytest.mark.filterwarnings("ignore:Detected pickle protocol:UserWarning")  # torch says so before it refuses
def test_a_bare_pickle_is_refused_and_not_run(tmp_path: Path) -> None:
    (tmp_path / "w.pth").write_bytes(pickle.dumps(Malicious(tmp_path / "owned")))
    with pytest.raises(InputError, match=r"checkpoint .*w\.pth"):
        load_checkpoint(model(), tmp_path / "w.pth")
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize("name", ["w.pth", "w.safetensors"])
@pytest.mark.parametrize("keep", [0, 10, 200])
def test_a_truncated_file(name: str, keep: int, tmp_path: Path) -> None:
    path = tmp_path / name
    if name.endswith("pth"):
        torch.save(model().state_dict(), path)
    else:
        save_file(model().state_dict(), path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InputError, match=rf"checkpoint .*{name} (cannot be read|holds pickled)"):
        load_checkpoint(model(), path)


def test_every_flipped_byte_is_an_input_error_or_loads(tmp_path: Path) -> None:
    torch.save({"state_dict": model().state_dict()}, tmp_path / "w.pth")
    content = bytearray((tmp_path / "w.pth").read_bytes())
    refused = 0
    for place in range(0, len(content), 37):
        (tmp_path / "w.pth").write_bytes(content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :])
        try:
            load_checkpoint(model(), tmp_path / "w.pth")
        except InputError:
            refused += 1
    assert refused > 10


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"checkpoint .*none\.pth: no such file; give the path of one"):
        load_checkpoint(model(), tmp_path / "none.pth")


def test_several_states_and_a_model_with_its_code(tmp_path: Path) -> None:
    torch.save({"params": model().state_dict(), "params_ema": model().state_dict()}, tmp_path / "w.pth")
    with pytest.raises(InputError, match=r"a dictionary that has params and params_ema; save .*checkpoint\[.params.\]"):
        load_checkpoint(model(), tmp_path / "w.pth")
    with zipfile.ZipFile(tmp_path / "w.pt", "w") as archive:  # as torch.jit.save writes it
        archive.writestr("w/constants.pkl", b"")
    with pytest.raises(InputError, match="w.pt is a TorchScript archive, a model with its code; save the model.state"):
        load_checkpoint(model(), tmp_path / "w.pt")


def test_something_else_than_tensors(tmp_path: Path) -> None:
    torch.save([1, 2], tmp_path / "w.pth")
    with pytest.raises(InputError, match="expected a state dict of tensors, got list"):
        load_checkpoint(model(), tmp_path / "w.pth")


@pytest.mark.filterwarnings("ignore:(Validating sparse tensor|Sparse) invariant:UserWarning")
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({1: torch.zeros(1)}, "tensors by their names, got Tensor as 1"),
        ({"a": 3}, "tensors by their names, got int as 'a'"),
        ({"a": torch.eye(2).to_sparse()}, 'tensor "a" is sparse, expected a plain one'),
        ({"a": torch.zeros(2, device="meta")}, 'tensor "a" is on the meta device, without values'),
        ({"a": torch.zeros(2, dtype=torch.complex64)}, 'tensor "a" is complex'),
    ],
)
def test_tensors_that_are_not_plain(content: object, message: str, tmp_path: Path) -> None:
    torch.save(content, tmp_path / "w.pth")
    with pytest.raises(InputError, match=f"w.pth: .*{message}"):
        load_checkpoint(model(), tmp_path / "w.pth")


@pytest.mark.filterwarnings("ignore")  # torch is about to drop them
def test_quantised_tensors(tmp_path: Path) -> None:
    torch.save({"a": torch.quantize_per_tensor(torch.zeros(2), 0.1, 0, torch.qint8)}, tmp_path / "w.pth")
    with pytest.raises(InputError, match='tensor "a" is quantised'):
        load_checkpoint(model(), tmp_path / "w.pth")


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("half", [False, True])
def test_values_that_are_not_finite_are_refused(half: bool, value: float, tmp_path: Path) -> None:
    state = model().state_dict()
    state["1.running_var"][2] = value
    save_file(
        {k: v.half() if half and v.is_floating_point() else v for k, v in state.items()}, tmp_path / "w.safetensors"
    )
    loaded = model(seed=2)
    with pytest.raises(InputError, match='w.safetensors: tensor "1.running_var" has values that are not finite'):
        load_checkpoint(loaded, tmp_path / "w.safetensors")
    assert same(loaded, model(seed=2))


def test_a_buffer_that_is_not_finite_by_design_loads(tmp_path: Path) -> None:
    def attention() -> nn.Module:
        part = model()
        part.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(3))
        return part

    source = attention()
    torch.save(source.state_dict(), tmp_path / "w.pth")
    load_checkpoint(attention(), tmp_path / "w.pth")
    source.mask[2, 0] = float("-inf")  # where the model's own is finite
    torch.save(source.state_dict(), tmp_path / "w.pth")
    with pytest.raises(InputError, match='tensor "mask" has values that are not finite'):
        load_checkpoint(attention(), tmp_path / "w.pth")


def test_a_giant_shape_on_a_small_storage_is_refused_by_its_shape(tmp_path: Path) -> None:
    state = model().state_dict()
    torch.save({**state, "0.bias": torch.zeros(1).expand(2**45)}, tmp_path / "w.pth")
    with pytest.raises(InputError, match=r"1 of another shape \(0.bias \[35184372088832\] for \[4\]"):
        load_checkpoint(model(), tmp_path / "w.pth")


def test_weights_of_another_model_are_distinguished(tmp_path: Path) -> None:
    save_file({**model(8).state_dict(), "extra": torch.zeros(1)}, tmp_path / "w.safetensors")
    with pytest.raises(
        InputError,
        match=r"not of this model: of 7 tensors 1 unknown \(extra\), 6 of another shape \(0\.weight \[8, 3, 3, 3\]",
    ):
        load_checkpoint(model(4), tmp_path / "w.safetensors")
    torch.save({"other": torch.zeros(1)}, tmp_path / "w.pth")
    with pytest.raises(InputError, match=r"6 missing \(0\.weight, 0\.bias, 1\.weight, \.\.\.\), 1 unknown \(other\)"):
        load_checkpoint(model(4), tmp_path / "w.pth")


@pytest.mark.parametrize("asked", ["", "?download=true"])
def test_an_address_takes_the_file_that_was_downloaded_before(asked: str, hub: Path) -> None:
    for seed in (1, 2):  # two files of one name
        digest = downloaded(model(seed=seed), hub)
        loaded = model(seed=3)
        load_checkpoint(loaded, f"https://example.invalid/{seed}/w.safetensors{asked}#sha256={digest}")
        assert same(loaded, model(seed=seed))


def downloaded(source: nn.Module, hub: Path) -> str:
    """Puts a model's weights where a download of "w.safetensors" lies; their sha256."""
    save_file(source.state_dict(), hub / "made")
    digest = hashlib.sha256((hub / "made").read_bytes()).hexdigest()
    (hub / "made").rename(hub / f"{digest[:16]}-w.safetensors")
    return digest


def test_an_address_without_a_file() -> None:
    with pytest.raises(InputError, match="the address names no file; expected https"):
        load_checkpoint(model(), f"https://example.invalid/?download=true#sha256={'0' * 64}")


def test_an_address_whose_file_has_another_hash(hub: Path) -> None:
    save_file(model().state_dict(), hub / f"{'0' * 16}-w.safetensors")
    with pytest.raises(InputError, match=r"sha256 is [0-9a-f]{64}, expected 0{64}; delete the file"):
        load_checkpoint(model(), f"https://example.invalid/w.safetensors#sha256={'0' * 64}")


def test_an_address_without_a_hash() -> None:
    with pytest.raises(InputError, match="expected its hash after it"):
        load_checkpoint(model(), "https://example.invalid/w.safetensors")


def test_an_address_that_cannot_be_reached(hub: Path) -> None:
    with pytest.raises(InputError, match=r"https://example\.invalid/w\.safetensors cannot be downloaded"):
        load_checkpoint(model(), f"https://example.invalid/w.safetensors#sha256={'0' * 64}")
    assert not list(hub.iterdir())


def place_weights(content: object, hub: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file where torchvision's download would have put it, under a name with its hash, as all of its names have."""
    torch.save(content, hub / "made.pth")
    digest = hashlib.sha256((hub / "made.pth").read_bytes()).hexdigest()
    path = (hub / "made.pth").rename(hub / f"made-{digest[:8]}.pth")
    weights = types.SimpleNamespace(url=f"https://example.invalid/{path.name}")
    monkeypatch.setattr(models, "get_weight", lambda name: weights)
    return path


def test_torchvisions_weights(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place_weights(model(seed=1).state_dict(), hub, monkeypatch)
    loaded = model(seed=2)
    load_checkpoint(loaded, "torchvision://Made_Weights.DEFAULT")
    assert same(loaded, model(seed=1))


def test_torchvisions_weights_with_code_are_refused(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place_weights({"w": Malicious(hub / "owned")}, hub, monkeypatch)
    with pytest.raises(InputError, match="holds pickled Python objects"):
        load_checkpoint(model(), "torchvision://Made_Weights.DEFAULT")
    assert not (hub / "owned").exists()


def test_torchvisions_weights_that_changed_are_refused(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = place_weights(model().state_dict(), hub, monkeypatch)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match="delete the file and try again"):
        load_checkpoint(model(), "torchvision://Made_Weights.DEFAULT")


def test_unknown_torchvision_weights() -> None:
    with pytest.raises(
        InputError,
        match='unknown weights "SqueezeNet1_1_Weights.IMAGENET1K_V7"; nearest: "SqueezeNet1_1_Weights.IMAGENET1K_V1"',
    ):
        load_checkpoint(model(), "torchvision://SqueezeNet1_1_Weights.IMAGENET1K_V7")
