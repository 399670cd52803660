"""An ONNX Runtime session from a file, with our defaults and our errors."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import onnxruntime
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidProtobuf

from backends.engine_options import EngineOptions
from backends.load_arguments import check_threads
from backends.onnxruntime.held_model import HeldModel
from backends.onnxruntime.placement import warn_of_cpu_nodes
from backends.onnxruntime.providers import BUILDERS, provider_options, short_name
from backends.profiles import Profile
from backends.threads import default_threads
from zoo.errors import BackendUnavailableError, ExportError, InputError

FATAL = 4
SHORT_SPIN = "500"
"""Microseconds for which threads still look for work, without `spin`: the pause between two calls of a quick model."""
NO_GRAPH = ("No graph was found", "does not have a graph")  # of an empty file, by version of ONNX Runtime


def open_session(
    model: Path | HeldModel,
    provider: str,
    threads: int | None,
    engine: EngineOptions | None = None,
    profile: Profile | None = None,
    cache: str | None = None,
    trace: Path | None = None,
    *,
    in_floats: bool = False,
    spin: bool = True,
    shared: bool = False,
) -> onnxruntime.InferenceSession:
    """A session that runs on `provider`, and is silent. `engine`, `profile`, `cache`: see provider_options.

    `model`: an ONNX file, by its path or held open; external data of a path are found beside it, by ONNX Runtime.

    A GPU's provider leaves to the CPU what it has no kernel for: a warning names these nodes (see placement). One that
    takes no node at all is an error.

    `trace`: where to write which kernels ran, a prefix of the file's name. `in_floats`, `spin`, `shared`: see
    session_options.

    Raises InputError where the file is missing or is no ONNX model, reads weights from a file that was not given with
    it, or `threads` is no number of them; ExportError where ONNX Runtime refuses the model; BackendUnavailableError
    where the provider is not there or could not be started.
    """
    name, options = provider_options(provider, engine, profile, cache)
    check_threads(threads)
    path = model.path if isinstance(model, HeldModel) else model
    if path is model and not path.is_file():
        raise InputError(f"{path}: no such file; give the path of an ONNX model")
    lean = name == "CPUExecutionProvider"
    settings = session_options(threads, lean=lean, in_floats=in_floats, spin=spin, shared=shared)
    if name != "CPUExecutionProvider":
        settings.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    if trace is not None:
        settings.enable_profiling = True
        settings.profile_file_prefix = os.fspath(trace)
    with _source(model, settings, named=short_name(provider).partition(":")[0] in BUILDERS) as source:
        session = _made(path, source, settings, name, options)
    if name not in session.get_providers():
        raise BackendUnavailableError(_not_started(name, f"it runs on {', '.join(session.get_providers())} instead"))
    if name != "CPUExecutionProvider":
        _check_used(path, session, name)
        warn_of_cpu_nodes(session, name)
    session.disable_fallback()
    return session


@contextmanager
def _source(model: Path | HeldModel, settings: onnxruntime.SessionOptions, *, named: bool) -> Iterator[str | bytes]:
    if isinstance(model, HeldModel):
        with model.source(settings, named=named) as source:
            yield source
    else:
        yield os.fspath(model)


def _made(
    path: Path, source: str | bytes, settings: onnxruntime.SessionOptions, name: str, options: dict[str, str]
) -> onnxruntime.InferenceSession:
    try:
        return onnxruntime.InferenceSession(
            source, settings, providers=[name], provider_options=[options], enable_fallback=0
        )
    except Exception as error:  # ONNX Runtime's errors have no base of their own
        reason = _reason(error)
        if isinstance(error, InvalidProtobuf) or any(words in str(error) for words in NO_GRAPH):
            size = len(source) if isinstance(source, bytes) else Path(source).stat().st_size
            raise InputError(
                f"{path}: not an ONNX model, or a damaged one ({size} bytes; ONNX Runtime: {reason}); export or copy "
                "it again"
            ) from error
        if name != "CPUExecutionProvider" and name in str(error):
            raise BackendUnavailableError(_not_started(name, reason)) from error
        if isinstance(source, str):
            reason = reason.replace(source, os.fspath(path))
        raise ExportError(f"{path}: ONNX Runtime {onnxruntime.__version__} refuses it: {reason}") from error


def session_options(
    threads: int | None = None,
    *,
    lean: bool = True,
    in_floats: bool = False,
    spin: bool = True,
    shared: bool = False,
) -> onnxruntime.SessionOptions:
    """What every session of ours is opened with. `threads`: None for the CPUs that this process may use.

    `lean`, for the CPU: without the memory pattern, a second plan of the whole graph's buffers beside those that the
    arena already holds, and without planned reuse, which keeps a buffer from its first use to its last, however far
    apart. What it saves and costs: docs/measured/session_memory.md.
    `shared`: several threads call it at the same time, with inputs of few sizes. Then it has the memory pattern, by
    which the buffers of a call are one block. Without it, calls take over each other's buffers one by one, and their
    values move between the caches of the CPUs. The same page has both.
    `spin`: see `load`; for how long is ONNX Runtime's own default.
    `in_floats`: each QuantizeLinear rounds, and what is between them is computed in floats, as the standard defines it.
    Without it ONNX Runtime makes kernels of whole numbers of them; with weights of 8 bits those saturate where a CPU
    has no VNNI.
    """
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = default_threads() if threads is None else threads
    settings.inter_op_num_threads = 1
    settings.log_severity_level = FATAL  # whatever goes wrong arrives as an exception
    settings.enable_mem_pattern = shared or not lean
    settings.enable_mem_reuse = not lean
    if not spin:
        settings.add_session_config_entry("session.intra_op.spin_duration_us", SHORT_SPIN)
    if in_floats:
        settings.add_session_config_entry("session.disable_quant_qdq", "1")
    return settings


def _check_used(path: Path, session: onnxruntime.InferenceSession, name: str) -> None:
    """Raise ExportError where the provider that was asked for runs no node of the graph."""
    users = {subgraph.ep_name for subgraph in session.get_provider_graph_assignment_info()}
    if users and name not in users:
        raise ExportError(
            f"{path}: provider {name} runs none of its nodes, and all would silently run on "
            f"{', '.join(sorted(users))}; use provider cpu"
        )


def _not_started(name: str, reason: str) -> str:
    return (
        f"provider {name} could not be started: {reason} (available: "
        f"{', '.join(onnxruntime.get_available_providers())}); install the libraries that it needs, or use provider cpu"
    )


def _reason(error: Exception) -> str:
    """The last part of ONNX Runtime's message, on one line."""
    return " ".join(str(error).rpartition("failed:")[2].split())
