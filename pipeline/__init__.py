"""How a deployment is made and proved. Names load when they are used: publishing alone needs no torch."""

from typing import TYPE_CHECKING

from zoo.lazy_names import lazy_names

if TYPE_CHECKING:
    from pipeline.alignment.aligning import align
    from pipeline.deploying import deploy
    from pipeline.evaluating import evaluate

__all__ = ["align", "deploy", "evaluate"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "align": "pipeline.alignment.aligning",
        "deploy": "pipeline.deploying",
        "evaluate": "pipeline.evaluating",
    },
)
