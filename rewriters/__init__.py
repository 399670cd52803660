"""How a model becomes an ONNX graph: function, symbolic and graph rewriters, custom operators, export."""

from rewriters.engine.rewriter import rewrites
from rewriters.engine.rewriting import rewriting
from rewriters.export_onnx import export_onnx
from rewriters.export_record import ExportRecord

__all__ = ["ExportRecord", "export_onnx", "rewrites", "rewriting"]
