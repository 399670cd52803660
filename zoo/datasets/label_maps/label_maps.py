"""Images in one folder, and their label maps in another."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from zoo.datasets.files.faults import Faults
from zoo.datasets.files.folder_files import files_below
from zoo.datasets.files.image_list import listed
from zoo.datasets.label_maps.label_map_dataset import LabelMapDataset, Pair, paired
from zoo.input_kinds.image.reading import SUFFIXES
from zoo.registry import DATASETS
from zoo.tasks import ClassInfo
from zoo.tasks.class_info import IGNORE_LABEL


@DATASETS.register_module()
class LabelMaps(LabelMapDataset):
    """The images of the folder `images` with the PNGs of the same names in the folder `label_maps`, at any depth.

    A class's category_id is its value in the maps; the `ignored` values are ignored. `only`: a text file with the
    images that count, by their path without suffix.
    """

    def __init__(
        self,
        images: str | Path,
        label_maps: str | Path,
        ignored: Sequence[int] = (IGNORE_LABEL,),
        only: str | Path | None = None,
        *,
        classes: Sequence[ClassInfo],
    ) -> None:
        self.folders, self.only = (Path(images), Path(label_maps)), only
        super().__init__(classes=classes, ignored=tuple(ignored))

    def _pairs(self, faults: Faults) -> Iterator[Pair]:
        images = _by_name(self.folders[0], SUFFIXES, "images", faults)
        label_maps = _by_name(self.folders[1], (".png",), "PNG files", faults)
        names = set(listed(sorted({*images, *label_maps}), self.only, faults))
        chosen = [{name: path for name, path in files.items() if name in names} for files in (images, label_maps)]
        return paired(chosen[0], chosen[1], faults)


def _by_name(folder: Path, suffixes: Sequence[str], what: str, faults: Faults) -> Mapping[str, Path]:
    """Files of a folder, by their path in it without suffix; none, and two of one name, are faults."""
    if not folder.is_dir():
        faults.missing(folder, "folder")
        return {}
    files: dict[str, Path] = {}
    for path in sorted(path for path in files_below(folder) if path.suffix.lower() in suffixes):
        name = path.relative_to(folder).with_suffix("").as_posix()
        if name in files:
            faults.add(path, f'{files[name].name} has the name "{name}" as well; keep one of the two')
        files.setdefault(name, path)
    if not files:
        faults.add(folder, f"no {what} in it")
    return files
