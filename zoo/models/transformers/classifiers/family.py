"""The family of the models of transformers that classify images."""

from typing import ClassVar

from zoo.families import Generic, register
from zoo.models.transformers.classifiers.transformers_classifier import TransformersClassifier


@register(TransformersClassifier)
class TransformersClassifierFamily(Generic):
    """Their contract is that of the task."""

    name: ClassVar[str] = "TransformersClassifier"
    rewriters: ClassVar[str | None] = "rewriters.transformers"
