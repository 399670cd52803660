"""Build an engine of an ONNX file with tensorrt_rtx; run in a process of its own, which its native code may abort.

    python build_engine.py model.onnx MIN OPT MAX        the sizes of dynamic batches

Exit code 0, or 1 with the parser's or builder's reason on stderr.
"""

import sys

import tensorrt_rtx as trt


class Log(trt.ILogger):
    """Errors to stderr."""

    def __init__(self) -> None:
        trt.ILogger.__init__(self)

    def log(self, severity: trt.ILogger.Severity, message: str) -> None:
        if severity in (trt.ILogger.Severity.ERROR, trt.ILogger.Severity.INTERNAL_ERROR):
            sys.stderr.write(f"{message}\n")


def main(path: str, *batches: str) -> int:
    log = Log()
    builder = trt.Builder(log)
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, log)
    if not parser.parse_from_file(path):
        return 1
    config = builder.create_builder_config()
    config.num_compute_capabilities = 1
    config.set_compute_capability(trt.ComputeCapability.SM89, 0)
    profile = builder.create_optimization_profile()
    for index in range(network.num_inputs):
        tensor = network.get_input(index)
        shapes = [[int(batch) if size < 0 else size for size in tensor.shape] for batch in batches]
        profile.set_shape(tensor.name, *shapes)
    config.add_optimization_profile(profile)
    return 0 if builder.build_serialized_network(network, config) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
