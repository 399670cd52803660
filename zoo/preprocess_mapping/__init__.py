"""What other libraries say of their preprocessing, as the section `preprocess` of a config (torch-free).

    from_transformers(fields) -> dict    fields: the content of a preprocessor_config.json
    from_torchvision(fields) -> dict     fields: resize_size, crop_size, interpolation, antialias, mean, std of a preset
    from_timm(fields) -> dict            fields: what timm.data.resolve_data_config gives

Each takes a mapping of plain values and gives keyword arguments of zoo.preprocess.Preprocess, as a config writes them.
None of the libraries is imported. Raises InputError, naming the field, for whatever would not come out the same to a
grey level.
"""

from zoo.preprocess_mapping.timm import from_timm
from zoo.preprocess_mapping.torchvision import TORCHVISION_FIELDS, from_torchvision
from zoo.preprocess_mapping.transformers import from_transformers

__all__ = ["TORCHVISION_FIELDS", "from_timm", "from_torchvision", "from_transformers"]
