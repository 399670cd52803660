"""What is known to go wrong in an export: how it is recognised, and what cures it. Data only.

A cause is recognised by what the exporter or ONNX Runtime said (`said`, a regular expression), by an exporter's
warning (`warned`), or by what was seen of the model while it ran eagerly (`seen`, a kind of sight). The first that
fits is taken, so the special ones come before the general ones.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

TORCHSCRIPT, DYNAMO = "torchscript", "dynamo"


@dataclass(frozen=True)
class Cause:
    """`what` it is, in words, and its `cure`.

    `silent`: the file is written, and may be wrong without an error; `slow`: it is right, and slower than need be;
    `harmless`: it changes neither.
    """

    name: str
    what: str
    cure: str
    said: str = ""
    warned: str = ""
    seen: str = ""
    exporter: str = ""
    silent: bool = False
    slow: bool = False
    harmless: bool = False


CAUSES = (
    Cause(
        "crash",
        "the process of the export ended",
        "export it with the other exporter, or leave out parts of the model until it stays",
        said=r"^the process ended",
    ),
    Cause(
        "no-second-process",
        "the model does not load a second time, in a process of its own, while the first holds it",
        "let the file take no lock, port or device that only one process can have when it is imported or built",
        said=r"^the model loads in no second process",
    ),
    Cause(
        "no-end",
        "the export took too long",
        "give --timeout more seconds; under torchscript a Python loop is unrolled, so compute its iterations as one "
        "batch",
        said=r"^no result after",
    ),
    Cause(
        "constant-output",
        "the trace took an early return or a path without the input, so the file always gives the same",
        "export with inputs that take the main path, such as an image with objects; for torchvision's detectors the "
        "rewriters keep a fixed number of padded detections, and *.nms and .batched_nms refuse an empty example",
        said=r"depends on no input|has no input|reaches no output|got no boxes",
        silent=True,
    ),
    Cause(
        "opset-too-low",
        "dynamo writes opset 18 or later whatever is asked, or a file that ONNX Runtime refuses; DeformConv is in 19",
        "give --opset 20; or, for a lower one, export with torchscript",
        said=r"asked for opset|since opset \d+; give|No Op registered for \w+ with domain_version of",
    ),
    Cause(
        "fixed-axis",
        "the code, or torch.export, makes a constant of an axis that has a name",
        "take out what fixes it, such as a tensor of the example's size, and give an example of 2 or more; or leave "
        "the axis without a name",
        said=r"was to vary, the file fixes it|Constraints violated|specialized|ConstraintViolation",
        silent=True,
    ),
    Cause(
        "no-kernel",
        "ONNX Runtime has no kernel of the operator for this dtype",
        "compute in float32 or int64, and cast the result",
        said=r"NOT_IMPLEMENTED|Could not find an implementation",
    ),
    Cause(
        "data-dependent-nms",
        "torchvision's batched_nms asks how many boxes there are, which depends on the data",
        "the detectors' rewriters (torchvision.*.postprocess_detections) keep a fixed number of padded boxes; in a "
        "model of your own call torch.ops.zooport.class_nms_keep",
        said=r"data-dependent.*(nms|numel)|nms.*data-dependent",
        exporter=DYNAMO,
    ),
    Cause(
        "data-dependent",
        "a branch, a loop or a size depends on the tensor's numbers, which torch.export cannot know",
        "replace the branch by torch.where or torch.cond, the loop by torch.while_loop, a selection by a mask or topk "
        "of a fixed size; see docs/control_flow.md",
        said=r"data-dependent|DataDependent|UserError.*(dynamic control flow|item\(\))|cond\b.*not support",
        exporter=DYNAMO,
    ),
    Cause(
        "symbolic-method",
        "dynamo does not call the `symbolic` of an autograd.Function, but follows its forward, and cannot",
        "export with torchscript; or make its forward a torch.library operator with a fake implementation, and declare "
        "its translation with @rewriters.symbolic.symbolic",
        said=r"does not call its `symbolic`",
        exporter=DYNAMO,
    ),
    Cause(
        "deform-conv",
        "torchscript knows no operators of torchvision's namespace but nms, roi_align and roi_pool",
        "export with dynamo and opset 19 or above",
        said=r"torchvision::deform_conv2d",
    ),
    Cause(
        "ps-roi-align",
        "neither exporter knows ps_roi_align",
        "use roi_align, which both know",
        said=r"ps_roi_(align|pool)",
    ),
    Cause(
        "roi-pool",
        "dynamo's translation of roi_pool takes fewer arguments than torch gives",
        "export with torchscript, or use roi_align",
        said=r"roi_pool",
        exporter=DYNAMO,
    ),
    Cause(
        "stable-sort",
        "neither exporter knows sort(stable=True)",
        "topk(k=size, sorted=True), whose ties ONNX Runtime takes by the lowest index, or sort() without stable",
        said=r"operator Sort, Out|aten[.:]+sort|sort\.stable",
    ),
    Cause(
        "antialias",
        "torchscript knows no antialiased resize",
        "our rewriter torch.nn.functional.interpolate writes it as two products; or export with dynamo",
        said=r"_upsample_\w+_aa",
    ),
    Cause(
        "adaptive-pool",
        "ONNX has no pooling whose cells do not divide the size, or of a dynamic size",
        "our rewriter torch.nn.functional.adaptive_avg_pool2d writes it as two products",
        said=r"adaptive_\w+_pool",
    ),
    Cause(
        "attention-fast-path",
        "in eval mode MultiheadAttention runs as one operator that torchscript does not know",
        "our rewriter torch.MultiheadAttention.forward; or export with dynamo",
        said=r"_native_multi_head_attention|_transformer_encoder_layer_fwd",
    ),
    Cause(
        "grid-sample-5d",
        "a grid of volumes is in opset 20 and later only",
        "give --opset 20",
        said=r"GridSample with 5D|grid_?sampl\w*3d",
    ),
    Cause(
        "script-module",
        "torchscript traces no module that torch.jit.script compiled",
        "compile a function instead (torch.jit.script of a def, not of a module), and call it from forward; see "
        "docs/control_flow.md; or export with dynamo the module as it was written",
        said=r"not part of the active trace",
        exporter=TORCHSCRIPT,
    ),
    Cause(
        "python-output",
        "forward gives a Python number beside its tensors, such as x.shape[0], which the file would hold as a constant",
        "return only tensors; sizes can be read from the inputs and outputs of the file",
        seen="python-output",
    ),
    Cause(
        "partial-forward",
        "torchscript cannot read the signature of a functools.partial that is the model's forward",
        "wrap the model in a module whose forward calls it with these arguments; or export with dynamo",
        said=r"got multiple values|partial|is not a module, class, method, function",
        exporter=TORCHSCRIPT,
    ),
    Cause(
        "through-numpy",
        "a tensor leaves torch for NumPy, where no exporter follows",
        "write it with torch's operators, or as a custom operator",
        said=r"numpy|FakeTensor.*data_ptr",
        warned=r"numpy|from_numpy",
        silent=True,
    ),
    Cause(
        "unsupported-operator",
        "the exporter has no translation of the operator",
        "the other exporter; else write it with operators that are known",
        said=r"not supported|unrecognized namespace|No ONNX function found|Unsupported: ONNX export|[Uu]nsupported",
    ),
    Cause(
        "frozen-count",
        "a slice ends at a tensor's number, such as points[: int(n)]: the file keeps as many rows as the example had",
        "keep all rows, and leave the others out of what is computed: torch.where(torch.arange(count) < n, ...), or a "
        "place that counts nowhere; a fixed number of the best rows by topk",
        warned=r"Python (integer|number|index)[^@]* @ .*\[[^\]]*:\s*int\(",
        exporter=TORCHSCRIPT,
        silent=True,
    ),
    Cause(
        "size-limit",
        "min or max of a traced size, such as topk(min(20, n)), becomes the number of the traced one",
        "export with dynamo, which keeps it; or compute the limit with torch.minimum on torch._shape_as_tensor",
        warned=r"Python boolean[^@]* @ (?!(if|elif|while)\b).*(?<![.\w])(min|max)\(",  # not x.max() > 0
        exporter=TORCHSCRIPT,
        silent=True,
    ),
    Cause(
        "frozen-branch",
        "a Python branch on a traced value: the file holds the side that the example took",
        "torch.where, or a function under torch.jit.script, or torch.cond for dynamo; see docs/control_flow.md",
        warned=r"Python boolean(?![^@]* @ while\b)",
        seen="branch",
        silent=True,
    ),
    Cause(
        "batch-as-list",
        "a Python loop over a tensor: the file holds its body once for each image of the example's batch",
        "compute the batch at once; for torchvision's detectors our rewriters torchvision.GeneralizedRCNN.forward, "
        ".RetinaNet.forward, .FCOS.forward and .SSD.forward",
        warned=r"Iterating over a tensor",
        silent=True,
    ),
    Cause(
        "frozen-loop",
        "a Python loop, or a list, of as many iterations as the example needed",
        "compute the iterations as one batch (slide inference: our rewriter zoo.EncoderDecoder.slide_inference), or "
        "torch.jit.script, or torch.while_loop for dynamo; see docs/control_flow.md",
        warned=r"Using len|Python boolean",
        seen="loop",
        silent=True,
    ),
    Cause(
        "baked-number",
        "a tensor became a Python number (int(), float(), .item(), .tolist()): the file holds that of the example",
        "keep it a tensor: x * x.max() instead of x * x.max().item(), sizes as x.shape gives them, without int()",
        warned=r"Python (integer|float|number|index|list|scalar)|\.item\(\)",
        seen="to-python",
        silent=True,
    ),
    Cause(
        "baked-tensor",
        "torch.tensor() of a traced value is a constant of the example",
        "torch.stack, torch.cat or x.new_zeros, which are traced; harmless where the value never changes",
        warned=r"torch\.(tensor|as_tensor|from_numpy) results are registered as constants",
        exporter=TORCHSCRIPT,
        silent=True,
    ),
    Cause(
        "slice-assignment",
        "each assignment to a part of a tensor becomes ScatterND and the Expands around it: slow, and a large file",
        "torch.cat, stack or F.pad of the parts, then a sum; for sliding windows our rewriter "
        "zoo.EncoderDecoder.slide_inference",
        seen="assignment",
        slow=True,
    ),
    Cause(
        "unique",
        "torch.unique gives as many values as differ, such as the occupied pillars of a point cloud: dynamo cannot "
        "compare their number, torchscript may freeze it, and TensorRT has no such operator",
        "a dense canvas, on which every cell has its place: torch.ops.zooport.by_cell and pillar_canvas, as our "
        "rewriter zoo.PillarEncoder.forward; or scatter_add into a tensor of all cells",
        seen="unique",
    ),
    Cause(
        "masked-rows",
        "a boolean mask chooses rows, such as the points in a range: their number depends on the data",
        "keep all rows, and give those outside a place that counts nowhere, by torch.where; or topk of a fixed number",
        seen="mask",
    ),
    Cause(
        "scattered-parts",
        "parts are put together by ScatterElements, as torchvision's MultiScaleRoIAlign does with its levels: slow",
        "one gather instead: our rewriter torchvision.MultiScaleRoIAlign.forward",
        seen="scatter",
        slow=True,
    ),
    Cause(
        "local-paths",
        "the file names folders of this machine, as dynamo's stack traces do, and differs from machine to machine",
        "our export takes them out; so does rewriters.graph_passes.strip_traces",
        seen="leak",
        harmless=True,
    ),
    Cause(
        "ties",
        "of equal scores torch.topk and torch.sort promise no order; ONNX Runtime takes the lowest index first",
        "compare results as sets, as zooport's parity does; or break the ties before",
        seen="ties",
    ),
    Cause(
        "other-path",
        "at other inputs the file gives other numbers than the model: it holds what the example decided",
        "the other exporter, or our rewriters; else write the named module with torch's operators only",
        seen="path",
        silent=True,
    ),
    Cause(
        "other-numbers",
        "on its own example the file gives other numbers than the model: an operator's translation is wrong",
        "the other exporter; else write the named module with other operators",
        seen="numbers",
        silent=True,
    ),
)
UNKNOWN = Cause("unknown", "not a known cause", "the message is all that is known; try the other exporter")


def cause_of_message(words: str, exporter: str) -> Cause:
    """The cause of what an exporter or ONNX Runtime said, or UNKNOWN."""
    return next((cause for cause in _for(exporter) if cause.said and re.search(cause.said, words, re.DOTALL)), UNKNOWN)


def by_warning(words: str, exporter: str) -> Cause | None:
    """The cause that a warning tells of, None where it is of no known one."""
    return next((cause for cause in _for(exporter) if cause.warned and re.search(cause.warned, words)), None)


def by_sight(kind: str) -> Cause:
    """The cause of a sight."""
    return next(cause for cause in CAUSES if cause.seen == kind)


def _for(exporter: str) -> Iterator[Cause]:
    return (cause for cause in CAUSES if cause.exporter in ("", exporter))
