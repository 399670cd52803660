"""A config for data of one's own, made of a shipped one and a COCO annotation file."""

from pipeline.training.own_config.writing import OwnConfig, write_config

__all__ = ["OwnConfig", "write_config"]
