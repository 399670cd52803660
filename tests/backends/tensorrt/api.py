"""Which of the library's classes a name in backends/tensorrt stands for: the convention that test_api.py holds it to.

A variable, parameter or attribute (with or without a leading underscore) of one of these names holds an object of that
class there, and of nothing else with such a name an attribute is read: a dtype of numpy gets another one first.
"""

OBJECTS = {
    "trt": "",  # the module
    "builder": "Builder",
    "network": "INetworkDefinition",
    "parser": "OnnxParser",
    "refusal": "ParserError",
    "config": "IBuilderConfig",
    "profile": "IOptimizationProfile",
    "cache": "ITimingCache",
    "others": "ITimingCache",
    "layer": "ILayer",
    "kinds": "LayerType",
    "tensor": "ITensor",
    "dtype": "DataType",
    "runtime": "Runtime",
    "engine": "ICudaEngine",
    "context": "IExecutionContext",
}

PLAIN = {
    "plan": "IHostMemory, of which only the buffer is used",
    "counts": "our own",
    "found": "a match in a layer's metadata",
    "members": "name -> value of an enumeration",
    "count": "a size",
    "name": "a string",
    "names": "strings",
    "reason": "a string",
    "description": "a string",
    "flags": "a number",
    "shape": "Dims, of which only the sides are used",
    "missing": "our own",
    "base": "a name that our class is derived from",
    "layers": "a list of layers",
    "tensors": "a list of tensors",
    "refusals": "a list of parser errors",
    "work": "values of an enumeration",
    "passed": "values of an enumeration",
    "log": "our logger",
    "path": "a path",
    "known": "our own table",
}
"""Names to which something of the library is assigned, and of which no attribute of the library's is read."""

RTX_ONLY = {
    ("", "ComputeCapability"),
    ("IBuilderConfig", "num_compute_capabilities"),
    ("IBuilderConfig", "set_compute_capability"),
}
"""Not in tensorrt, and used with tensorrt-rtx alone."""
