"""(c) ONNX Runtime's CUDA provider: parity, metric, nodes left on the CPU, latency, device memory, streams."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpu.deployments import deploy, graph_file, metric
from gpu.lacks import no_provider
from gpu.stage import Cell, Findings, Place, Stage

if TYPE_CHECKING:
    from torch import Tensor

    from gpu.bound_session import BoundSession
    from gpu.contenders import Tensors

Run = Callable[[], object]
OPSETS = (20, 18)  # the default, and the lowest; the first one is timed: both took the same time, within 7 %
ROUNDS, CALLS = 15, 200
OPTIONS: Mapping[str, Mapping[str, str]] = {
    "heuristic search": {},  # zooport's own
    "exhaustive search": {"cudnn_conv_algo_search": "EXHAUSTIVE"},  # ONNX Runtime's default
    "no search": {"cudnn_conv_algo_search": "DEFAULT"},
    "heuristic search, channels last": {"prefer_nhwc": "1"},
    "heuristic search, TF32": {"use_tf32": "1"},
    "heuristic search, fused bias": {"fuse_conv_bias": "1"},
}
"""Of the CUDA provider: what a user may try, by words."""


def cells(place: Place) -> Iterator[Cell]:
    """First what proves the provider, for every model; then what is timed, alone."""
    configs = place.configs()
    yield Cell("kernels", "operators of our graphs", _kernels, alone=False)
    for opset in OPSETS:
        for config in configs:
            yield Cell(
                "deployed", f"{Path(config).stem}, opset {opset}", partial(_deployed, config, opset), alone=False
            )
    for config in configs:
        yield Cell("graph", Path(config).stem, partial(_exported, config), alone=False)
    timed = {
        "latency": _latency,
        "bound": _bound,
        "options": _options,
        "memory": _memory,
        "torch.compile": _compiled,
    }
    for kind, measure in timed.items():
        for config in configs:
            yield Cell(kind, Path(config).stem, partial(measure, config))


def _kernels(place: Place, findings: Findings) -> None:
    from gpu.kernels import kernels

    kernels(place, findings)


def label(opset: int) -> str:
    """Of the deployments at this opset."""
    return f"onnxruntime-opset{opset}"


def _deployed(config: str, opset: int, place: Place, findings: Findings) -> None:
    """Parity on the device, the nodes that it leaves to the CPU, and the metric."""
    folder = deploy(config, place, label(opset), findings, opset=opset)
    with findings.trying("nodes on the CPU"):
        left = nodes_left(folder / "model.onnx", place.device)
        findings.add({"nodes on the CPU": left or "none"})
    with findings.trying("metric"):
        metric(config, folder, place, findings)


def _exported(config: str, place: Place, findings: Findings) -> None:
    """The graph of what is timed, where no deployment was made: side by side, before the timed cells need it."""
    findings.add({"MB": _graph_file(config, place).stat().st_size / 1e6})


def _graph_file(config: str, place: Place) -> Path:
    return graph_file(config, place, label(OPSETS[0]), opset=OPSETS[0])


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
    """From the host to the host: our graph, the plain export and eager PyTorch."""
    import torch
    from sessions import plain_export

    from gpu.contenders import eager, graph, unpatched
    from gpu.timed import latencies

    torch.backends.cudnn.allow_tf32 = False  # as our sessions compute
    module, inputs = unpatched(config, place)
    path = _graph_file(config, place)
    runs: dict[str, Run] = {"ours": graph(path, inputs, place.device)}
    with findings.trying("plain export"):
        plain = place.scratch / f"{Path(config).stem}-plain.onnx"
        plain.write_bytes(plain_export(module, *inputs.values()))
        runs["plain export"] = graph(plain, inputs, place.device)
    runs["eager"] = eager(module.to(place.device), inputs, place.device)
    findings.add(latencies(_running(runs, findings), place.some(ROUNDS)))


def _compiled(config: str, place: Place, findings: Findings) -> None:
    """Our graph beside torch.compile, from the host to the host."""
    import torch

    from gpu.contenders import eager, graph, unpatched
    from gpu.timed import latencies

    torch.backends.cudnn.allow_tf32 = False
    module, inputs = unpatched(config, place)
    compiler = "eager" if place.rehearsal else "inductor"  # which compiles for minutes on a CPU
    compiled = torch.compile(module.to(place.device), backend=compiler)
    runs = {
        "ours": graph(_graph_file(config, place), inputs, place.device),
        "torch.compile": eager(compiled, inputs, place.device),
    }
    findings.add(latencies(_running(runs, findings), place.some(ROUNDS)))


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
    from gpu.contenders import graph, on_device, resident, unpatched
    from gpu.timed import latencies

    torch.backends.cudnn.allow_tf32 = False
    module, inputs = unpatched(config, place)
    path = _graph_file(config, place)
    expected = [torch.from_numpy(array) for array in graph(path, inputs, place.device)().values()]
    there = on_device(inputs, place.device)
    session = BoundSession(path, place.device)
    binding = session.bind(there)
    outputs = session.run(binding)
    findings.add({"outputs on": outputs[0].device.type, "off by": off_by(outputs, expected)})
    bound = partial(session.run, binding)
    with findings.trying("latency"):
        runs: dict[str, Run] = {
            "bound": bound,
            "eager on the device": resident(module.to(place.device), inputs, place.device),
        }
        findings.add(latencies(runs, place.some(ROUNDS)))
    with findings.trying("CUDA graph"):
        recorded = BoundSession(path, place.device, graph=True)
        replay, fixed = _recorded(recorded, there, outputs)
        findings.add({"graph off by": off_by(fixed, expected)})
        findings.add(latencies({"graph": replay, "bound": bound}, place.some(ROUNDS)))
    with findings.trying("two streams"):
        _two_streams(path, there, expected, place, findings)


def _recorded(session: "BoundSession", inputs: "Tensors", outputs: "Sequence[Tensor]") -> "tuple[Run, list[Tensor]]":
    """What repeats a recorded run, and the tensors that it writes, of `inputs`, recorded with images of zeros."""
    import torch

    fixed = {name: torch.empty_like(tensor) for name, tensor in zip(session.names, outputs, strict=True)}
    other = {
        name: torch.zeros_like(tensor) if tensor.is_floating_point() else tensor.clone()
        for name, tensor in inputs.items()
    }
    replay = partial(session.run, session.bind(other, fixed))
    replay()
    for name, tensor in inputs.items():
        other[name].copy_(tensor)
    replay()
    torch.get_device_module(session.device).synchronize()
    return replay, list(fixed.values())


def _two_streams(path: Path, inputs: "Tensors", expected: "Sequence[Tensor]", place: Place, findings: Findings) -> None:
    """Two sessions, each on a stream of its own, called by two threads at once."""
    import torch

    from gpu.bound_session import BoundSession
    from gpu.timed import per_second

    on_device, calls = torch.get_device_module(place.device), place.some(CALLS)
    streams = [on_device.Stream() for _ in range(2)]
    sessions = [BoundSession(path, place.device, stream=getattr(stream, "cuda_stream", None)) for stream in streams]
    both = [partial(session.run, session.bind(inputs)) for session in sessions]
    one, two = (per_second(runs, calls, on_device.synchronize) for runs in (both[:1], both))
    differences = [off_by(run(), expected) for run in both]
    findings.add({"one stream /s": one, "two streams /s": two, "streams off by": max(differences)})


def off_by(outputs: "Sequence[Tensor]", expected: "Sequence[Tensor]") -> float:
    """The largest difference of any element. Raises RuntimeError where shapes differ."""
    pairs = zip(outputs, expected, strict=True)
    return max(float((one.cpu().double() - other.double()).abs().amax()) for one, other in pairs)


def _options(config: str, place: Place, findings: Findings) -> None:
    """Other options of the provider: the first call with an input size, the later ones, and what they change."""
    import onnxruntime as ort
    import torch

    from backends.onnxruntime.providers import provider_options
    from backends.onnxruntime.session import session_options
    from gpu.contenders import unpatched
    from gpu.timed import latencies

    arrays = {name: tensor.numpy() for name, tensor in unpatched(config, place)[1].items()}
    path = _graph_file(config, place)
    name, own = provider_options(place.device)

    def session_and_feeds(changes: Mapping[str, str]) -> "tuple[ort.InferenceSession, dict[str, Any]]":
        options = own if place.rehearsal else {**own, **changes}
        session = ort.InferenceSession(
            path, session_options(lean=False), providers=[name], provider_options=[options], enable_fallback=0
        )
        return session, {spec.name: arrays[spec.name] for spec in session.get_inputs() if spec.name in arrays}

    first, feeds = session_and_feeds({})
    first.run(None, feeds)  # loads cuDNN's libraries, once in a process
    runs: dict[str, Run] = {}
    expected: list[Tensor] = []
    for words, changes in OPTIONS.items():
        with findings.trying(words):
            session, feeds = session_and_feeds(changes)
            begin = time.perf_counter()
            outputs = [torch.from_numpy(output) for output in session.run(None, feeds)]
            findings.add({f"{words}, first call ms": 1e3 * (time.perf_counter() - begin)})
            expected = expected or outputs
            findings.add({f"{words}, off by": off_by(outputs, expected)})
            runs[words] = partial(session.run, None, feeds)
    findings.add(latencies(runs, place.some(ROUNDS)))


def _memory(config: str, place: Place, findings: Findings) -> None:
    """What one session takes of the device's memory, and what eager PyTorch does, for the same input."""
    from gpu.contenders import eager, graph, unpatched
    from gpu.device_memory import growth_there

    module, inputs = unpatched(config, place)
    path = _graph_file(config, place)
    for name, load in (
        ("eager", lambda: eager(module.to(place.device), inputs, place.device)),
        ("ours", lambda: graph(path, inputs, place.device)),
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
