"""OpenMMLab's codebases: whose a config is, and what it comes to as the sections of a zooport config.

Light: neither torch nor a codebase itself is imported before a config asks for it.
"""

from zoo.codebases.codebase import Codebase, Translation, known_codebases, register_codebase
from zoo.codebases.config import CodebaseConfig, type_name
from zoo.codebases.recognising import codebase_of

__all__ = [
    "Codebase",
    "CodebaseConfig",
    "Translation",
    "codebase_of",
    "known_codebases",
    "register_codebase",
    "type_name",
]
