"""A config for a model of one's own, made of its source and its weights. Light: torch is imported when it is needed."""

from zoo.own_model.for_deploy import config_for_deploy
from zoo.own_model.form import Description, Form, known_forms, register_form
from zoo.own_model.replacing import check_out
from zoo.own_model.request import ModelRequest
from zoo.own_model.writing import WrittenConfig, write_config

__all__ = [
    "Description",
    "Form",
    "ModelRequest",
    "WrittenConfig",
    "check_out",
    "config_for_deploy",
    "known_forms",
    "register_form",
    "write_config",
]
