"""(c) ONNX Runtime's CUDA provider: parity, metric, nodes left on the CPU, latency, device memory, streams."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gpu.deployments import deploy, made_deployment, metric
from gpu.lacks import no_provider
from gpu.stage import Cell, Findings, Place, Stage

if TYPE_CHECKING:
    from torch import Tensor

    from gpu.bound_session import BoundSession

Run = Callable[[], object]
OPSETS = (18, 20)  # what the CUDA provider has kernels for, and the default: backends/onnxruntime/preflight.py
ROUNDS, CALLS = 15, 200


def cells(place: Place) -> Iterator[Cell]:
    """First what proves the provider, for every model; then all that is timed of one model after another, alone."""
    configs = place.configs()
    for opset in reversed(OPSETS):
        for config in configs:
            yield Cell(
                "deployed", f"{Path(config).stem}, opset {opset}", partial(_deployed, config, opset), alone=False
            )
    for config in configs:
        for kind, measure in (("bound", _bound), ("latency", _latency), ("memory", _memory)):
            yield Cell(kind, Path(config).stem, partial(measure, config))


def _label(opset: int) -> str:
    return f"onnxruntime-opset{opset}"


def _deployed(config: str, opset: int, place: Place, findings: Findings) -> None:
    """Parity on the device, the nodes that it leaves to the CPU, and the metric."""
    folder = deploy(config, place, _label(opset), findings, opset=opset)
    with findings.trying("nodes on the CPU"):
        left = nodes_left(folder / "model.onnx", place.device)
        findings.add({"nodes on the CPU": left or "none"})
    with findings.trying("metric"):
        metric(config, folder, place, findings)


def nodes_left(path: Path, device: str) -> str:
    """The nodes that the device's provider leaves to the CPU, but for those of sizes, in words."""
    import onnxruntime as ort

    from backends.onnxruntime.placement import nodes_on_cpu
    from backends.onnxruntime.providers import provider_options
    from backends.onnxruntime.session import session_options

    settings = session_options(lean=False)
    settings.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    name, options = provider_options(device)
    session = ort.InferenceSession(path, settings, providers=[name], provider_options=[options])
    return ", ".join(f"{len(names)} {operator}" for operator, names in nodes_on_cpu(session).items())


def _latency(config: str, place: Place, findings: Findings) -> None:
    """From the host to the host: our graph at both opsets, the plain export, eager PyTorch and torch.compile."""
    import torch
    from sessions import plain_export

    from gpu.contenders import eager, graph, unpatched
    from gpu.timed import latencies

    torch.backends.cudnn.allow_tf32 = False  # as our sessions compute
    module, image = unpatched(config, place)
    runs: dict[str, Run] = {}
    for opset in OPSETS:
        with findings.trying(f"opset {opset}"):
            path = made_deployment(config, place, _label(opset)) / "model.onnx"
            runs["ours" if opset == OPSETS[0] else f"ours at opset {opset}"] = graph(path, image, place.device)
    with findings.trying("plain export"):
        plain = place.scratch / f"{Path(config).stem}-plain.onnx"
        plain.write_bytes(plain_export(module, image))
        runs["plain export"] = graph(plain, image, place.device)
    there, rounds = module.to(place.device), place.some(ROUNDS)
    runs["eager"] = eager(there, image, place.device)
    findings.add(latencies(_running(runs, findings), rounds))
    compiler = "eager" if place.rehearsal else "inductor"  # which compiles for minutes on a CPU
    runs["torch.compile"] = eager(torch.compile(there, backend=compiler), image, place.device)
    findings.add(latencies(_running(runs, findings), rounds))


def _running(runs: Mapping[str, Run], findings: Findings) -> dict[str, Run]:
    """Those that run at all."""
    good = {}
    for name, run in runs.items():
        with findings.trying(name):
            run()
            good[name] = run
    return good


def _bound(config: str, place: Place, findings: Findings) -> None:
    """Tensors of the device, without copies to the host; CUDA graphs; two streams at once."""
    import torch

    from gpu.bound_session import BoundSession
    from gpu.contenders import graph, resident, unpatched
    from gpu.timed import latencies

    module, image = unpatched(config, place)
    path = made_deployment(config, place, _label(OPSETS[0])) / "model.onnx"
    expected = [torch.from_numpy(array) for array in graph(path, image, place.device)().values()]
    there = image.to(place.device)
    session = BoundSession(path, place.device)
    binding = session.bind(there)
    outputs = session.run(binding)
    findings.add({"outputs on": outputs[0].device.type, "off by": off_by(outputs, expected)})
    bound = partial(session.run, binding)
    with findings.trying("latency"):
        runs: dict[str, Run] = {
            "bound": bound,
            "eager on the device": resident(module.to(place.device), image, place.device),
        }
        findings.add(latencies(runs, place.some(ROUNDS)))
    with findings.trying("CUDA graph"):
        recorded = BoundSession(path, place.device, graph=True)
        replay, fixed = _recorded(recorded, there, outputs)
        findings.add({"graph off by": off_by(fixed, expected)})
        findings.add(latencies({"graph": replay, "bound": bound}, place.some(ROUNDS)))
    with findings.trying("two streams"):
        _two_streams(path, there, expected, place, findings)


def _recorded(session: "BoundSession", image: "Tensor", outputs: "Sequence[Tensor]") -> "tuple[Run, list[Tensor]]":
    """What repeats a recorded run, and the tensors that it writes, of `image`. It was recorded with another image."""
    import torch

    fixed = {name: torch.empty_like(tensor) for name, tensor in zip(session.names, outputs, strict=True)}
    other = torch.zeros_like(image)
    replay = partial(session.run, session.bind(other, fixed))
    replay()
    other.copy_(image)
    replay()
    torch.get_device_module(image.device).synchronize()
    return replay, list(fixed.values())


def _two_streams(path: Path, image: "Tensor", expected: "Sequence[Tensor]", place: Place, findings: Findings) -> None:
    """Two sessions, each on a stream of its own, called by two threads at once."""
    import torch

    from gpu.bound_session import BoundSession
    from gpu.timed import per_second

    on_device, calls = torch.get_device_module(place.device), place.some(CALLS)
    streams = [on_device.Stream() for _ in range(2)]
    sessions = [BoundSession(path, place.device, stream=getattr(stream, "cuda_stream", None)) for stream in streams]
    both = [partial(session.run, session.bind(image)) for session in sessions]
    one, two = (per_second(runs, calls, on_device.synchronize) for runs in (both[:1], both))
    differences = [off_by(run(), expected) for run in both]
    findings.add({"one stream /s": one, "two streams /s": two, "streams off by": max(differences)})


def off_by(outputs: "Sequence[Tensor]", expected: "Sequence[Tensor]") -> float:
    """The largest difference of any element. Raises RuntimeError where shapes differ."""
    pairs = zip(outputs, expected, strict=True)
    return max(float((one.cpu().double() - other.double()).abs().amax()) for one, other in pairs)


def _memory(config: str, place: Place, findings: Findings) -> None:
    """What one session takes of the device's memory, and what eager PyTorch does, for the same image."""
    from gpu.contenders import eager, graph, unpatched
    from gpu.device_memory import growth_there

    module, image = unpatched(config, place)
    path = made_deployment(config, place, _label(OPSETS[0])) / "model.onnx"
    for name, load in (
        ("eager", lambda: eager(module.to(place.device), image, place.device)),
        ("ours", lambda: graph(path, image, place.device)),
    ):
        with findings.trying(name):
            findings.add({f"{name} MiB": growth_there(load, place.device) / 2**20})


STAGE = Stage(
    3,
    "onnxruntime",
    "Does ONNX Runtime's CUDA provider give PyTorch's results, what does it leave to the CPU, how fast is it?",
    cells,
    no_provider,
    for_alone=0.4,
)
