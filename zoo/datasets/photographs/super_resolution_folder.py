"""Images of a folder, to be made again from smaller copies of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zoo.datasets.evaluation_dataset import INPUTS, EvaluationDataset, ImageEntry
from zoo.datasets.files.faults import Faults
from zoo.datasets.files.image_files import check_header, read_image
from zoo.datasets.photographs.low_resolution import low_resolution, trimmed
from zoo.datasets.photographs.scales import checked_scales
from zoo.input_kinds.image.reading import SUFFIXES
from zoo.input_specs import SCALE
from zoo.preprocess import MIN_SIDE
from zoo.registry import DATASETS
from zoo.shipped import shipped_path
from zoo.tasks import ClassInfo

PHOTOGRAPHS_ROOT = shipped_path("zoo/data/photographs")


@DATASETS.register_module()
class SuperResolutionFolder(EvaluationDataset):
    """The images of the folder `root`, in the order of their names, as Set5, Set14 and BSD100 are laid out.

    "image" is the small copy (see low_resolution), made when it is asked for; "target" uint8 [h * scale, w * scale, 3]
    BGR the large one, cut off where the scale does not divide it. `scale`: of a model that has one alone. `scales`, in
    its stead: of a model that takes the scale; every image comes once for each of them, all images at the first scale
    before the second, and the item's "inputs" have it.
    """

    def __init__(
        self,
        root: str | Path,
        scale: int | None = None,
        scales: Sequence[int] | None = None,
        *,
        classes: Sequence[ClassInfo] = (),
    ) -> None:
        self.root, self.gives_scale = Path(root), scales is not None
        self.scales = checked_scales(type(self).__name__, scale, scales)
        super().__init__(classes=classes)

    def image_item(self, index: int) -> dict[str, Any]:
        """An item without its truth."""
        scale = self._scale(index)
        item = super().image_item(index)
        item["image"] = low_resolution(trimmed(item["image"], scale), scale)
        return item | ({INPUTS: {SCALE.name: scale}} if self.gives_scale else {})

    def _index(self, faults: Faults) -> list[ImageEntry]:
        if not self.root.is_dir():
            faults.missing(self.root, "folder")
            return []
        entries = [
            (path, header.size)
            for path in sorted(self.root.iterdir())
            if path.suffix.lower() in SUFFIXES and (header := check_header(path, faults)) is not None
        ]
        least = MIN_SIDE * max(self.scales)
        for path, (height, width) in entries:
            if min(height, width) < least:
                faults.add(path, f"got {width}x{height} pixels, expected {least} or more, {MIN_SIDE} when made small")
        if not entries:
            faults.add(self.root, f"no images, expected one or more of {', '.join(SUFFIXES)}")
        return [
            ImageEntry(path, number, size)
            for number, (path, size) in enumerate(entry for _ in self.scales for entry in entries)
        ]

    def _truth(self, index: int) -> dict[str, Any]:
        listed = self.entries[index]
        return {"target": trimmed(read_image(listed.path, listed.size), self._scale(index))}

    def _scale(self, index: int) -> int:
        return self.scales[index // (len(self.entries) // len(self.scales))]


@DATASETS.register_module()
class PhotographCrops(SuperResolutionFolder):
    """The shipped crops of photographs that training never sees; see zoo/data/photographs/README.md."""

    def __init__(
        self, scale: int | None = None, scales: Sequence[int] | None = None, *, classes: Sequence[ClassInfo] = ()
    ) -> None:
        super().__init__(PHOTOGRAPHS_ROOT / "val", scale, scales, classes=classes)
