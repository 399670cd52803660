"""The export doctor: which exporter writes a model rightly, and why another does not."""

from pipeline.doctor.examining import examine
from pipeline.doctor.report import Finding, Report
from pipeline.doctor.subject import Subject

__all__ = ["Finding", "Report", "Subject", "examine"]
