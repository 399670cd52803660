"""Configs: Python files that describe a deployable model, read and checked once. Needs mmengine, not torch."""

from zoo.config.export_section import ExportSection, InputsSection, axis_range
from zoo.config.loading import ConfigSource, load_config
from zoo.config.model_config import CardSection, ModelConfig, Section
from zoo.config.reading import read_config
from zoo.config.target import config_target

__all__ = [
    "CardSection",
    "ConfigSource",
    "ExportSection",
    "InputsSection",
    "ModelConfig",
    "Section",
    "axis_range",
    "config_target",
    "load_config",
    "read_config",
]
