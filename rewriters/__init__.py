"""How a model becomes an ONNX graph: function, symbolic and graph rewriters, custom operators, export."""

from rewriters.export_onnx import export_onnx
from rewriters.export_record import ExportRecord
from rewriters.patching.rewriter import rewrites
from rewriters.patching.rewriting import rewriting

__all__ = ["ExportRecord", "export_onnx", "rewrites", "rewriting"]
