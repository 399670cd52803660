"""COCO's ids of images."""

from pathlib import Path, PurePath

from zoo.errors import InputError
from zoo.files.json_object import json_object


class AnnotatedImages:
    """The images of a COCO annotation file, by the end of their paths."""

    def __init__(self, path: Path) -> None:
        """Raises InputError where it cannot be read, or has no images with `id` and `file_name`."""
        self.path = path
        try:
            content = json_object(path.read_bytes(), str(path), "give a COCO annotation file")
        except OSError as error:
            raise InputError(f"--annotations {path}: cannot be read ({error.strerror})") from error
        self._ids: dict[str, dict[PurePath, int]] = {}
        images = content.get("images")
        for image in images if isinstance(images, list) else [None]:
            name, number = (image.get("file_name"), image.get("id")) if isinstance(image, dict) else (None, None)
            if not isinstance(name, str) or type(number) is not int:
                raise InputError(f"--annotations {path}: images: expected a list of {{id, file_name}} as COCO has it")
            self._ids.setdefault(PurePath(name).name, {})[PurePath(name)] = number

    def of(self, source: str) -> int:
        """The id of an image. Raises InputError where the file names none such, or several."""
        path = PurePath(source)
        candidates = self._ids.get(path.name, {})
        matches = [number for name, number in candidates.items() if path.parts[-len(name.parts) :] == name.parts]
        if len(matches) != 1:
            what = "no image" if not matches else f"{len(matches)} images"
            raise InputError(f"--annotations {self.path}: {what} of the name {source}; give the file of these images")
        return matches[0]
