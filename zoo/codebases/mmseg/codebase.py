"""What zooport knows of mmsegmentation."""

from importlib import import_module
from typing import Any, ClassVar

from zoo.codebases.codebase import Codebase, Translation, register_codebase
from zoo.codebases.config import CodebaseConfig, type_name
from zoo.codebases.mmseg.datasets import category_ids, dataset_sections
from zoo.codebases.mmseg.segmentor import segmentor_of
from zoo.codebases.preprocessing import preprocess_of

BATCH = (1, 2, 4)


@register_codebase
class Mmseg(Codebase):
    """Semantic segmentation by whole images, or by sliding windows."""

    scope: ClassVar[str] = "mmseg"
    preprocessors: ClassVar[frozenset[str]] = frozenset({"SegDataPreProcessor"})

    def translate(self, config: CodebaseConfig) -> Translation:
        """By zooport's own parts."""
        model = segmentor_of(config)
        head = model["decode_head"]
        content: dict[str, Any] = {
            "model": model,
            "task": {"type": "SemanticSegmentation"},
            "preprocess": preprocess_of(config),
            "export": {"inputs": {"batch": BATCH}},
        }
        sections, note = dataset_sections(config)
        notes = {} if note is None else {"export": note}
        count = head["num_classes"]
        what = f"{head['type']} on {model['backbone']['type']}, {model['test_cfg']['mode']}"
        return Translation(what, content | sections, count, category_ids(config, count), notes)

    def metainfo_names(self, dataset: str) -> tuple[str, ...]:
        """Of the library's registry of data sets."""
        try:
            import_module("mmseg.datasets")
            registry: Any = import_module("mmseg.registry").DATASETS
        except ImportError:
            return ()
        found = registry.get(type_name(dataset))
        return tuple(getattr(found, "METAINFO", {}).get("classes", ()))
