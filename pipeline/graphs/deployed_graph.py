"""The graph of a deployment, for what reads it with the package onnx."""

import onnx
from google.protobuf.message import DecodeError
from onnx.external_data_helper import load_external_data_for_model

from backends.external_data import external_files
from zoo.errors import InputError
from zoo.manifest import ONNX_FILE, Manifest
from zoo.opened_file import COPY_AGAIN
from zoo.opened_folder import OpenedFolder


def deployed_graph(folder: OpenedFolder, manifest: Manifest) -> onnx.ModelProto:
    """With all weights. Raises InputError where it is damaged, or reads weights from a file that is not hashed."""
    file = folder.file(ONNX_FILE)
    external = external_files(file, manifest.files)
    try:
        model = onnx.load_model_from_string(file.read())
    except DecodeError as error:
        raise InputError(f"{file.path}: not an ONNX model, or a damaged one ({error}); {COPY_AGAIN}") from error
    if external:
        load_external_data_for_model(model, str(folder.link))
    return model
