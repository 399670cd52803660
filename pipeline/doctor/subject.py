"""What is examined: a module of a Python file, with example inputs, or a config of ours. Each process loads it."""

from dataclasses import dataclass
from pathlib import Path

from pipeline.doctor.config_subject import load_config_subject
from pipeline.doctor.examined_model import ExaminedModel
from pipeline.doctor.module_subject import load_module_subject
from zoo.errors import InputError


@dataclass(frozen=True)
class Subject:
    """`text`: FILE.py:NAME of a module, a class or a function that makes one, or a config; `inputs` of the former."""

    text: str
    inputs: tuple[str, ...] = ()

    def load(self) -> ExaminedModel:
        """Raises InputError where there is no such thing, or the inputs do not say how to call it."""
        path, colon, name = self.text.rpartition(":")
        if not self.text or (colon and not (path and name)):
            raise InputError(f'"{self.text}": give FILE.py:NAME, or a config')
        if not colon and self.inputs:
            if Path(self.text).is_file():
                raise InputError(f"{self.text}: give FILE.py:NAME for a model; for a config leave out --input")
            raise InputError(f"{self.text}: a config has its own inputs; leave out --input, or give FILE.py:NAME")
        if not colon:
            try:
                return load_config_subject(self.text)
            except InputError as error:
                if 'key "model" is missing' in str(error):
                    error.add_note("for a model of this file give FILE.py:NAME")
                raise
        if not self.inputs:
            raise InputError(f"{self.text}: give its inputs, for example --input images=float32[N=2,3,H=64,W=96]")
        return load_module_subject(Path(path), name, self.inputs)
