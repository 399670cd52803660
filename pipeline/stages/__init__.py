"""The stages of a deploy, each a frozen value that the next ones take."""

from pipeline.stages.exported import Exported, export
from pipeline.stages.measured import Measured, measure
from pipeline.stages.prepared import Prepared, prepare
from pipeline.stages.proved import Proved, prove
from pipeline.stages.records import write_records
from pipeline.stages.staged import Staged, stage

__all__ = [
    "Exported",
    "Measured",
    "Prepared",
    "Proved",
    "Staged",
    "export",
    "measure",
    "prepare",
    "prove",
    "stage",
    "write_records",
]
