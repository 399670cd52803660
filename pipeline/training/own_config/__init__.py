"""A config for data of one's own, made of a shipped one and the data's files."""

from pipeline.training.own_config.request import DataRequest
from pipeline.training.own_config.writing import OwnConfig, write_config

__all__ = ["DataRequest", "OwnConfig", "write_config"]
