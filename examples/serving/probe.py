"""Whether a server of the Open Inference Protocol, version 2, is alive: python3 probe.py http://localhost:8000/cars F.

It sends the file F to the model. Exit code 0: the model answers, or the server refuses with 503, because its queue is
full. Exit code 1 and one line: anything else, such as a dead process of the model. Needs Python alone. It waits as long
as the server does: whatever runs it has to have a limit.
"""

import json
import sys
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit

ALIVE = (200, 503)


def status_of(address: str, content: bytes) -> int:
    """What the server answers to the content of a file. Raises OSError and HTTPException where it does not."""
    parts = urlsplit(address)
    size = len(content)
    tensor = {"name": "file", "shape": [1, size], "datatype": "UINT8", "parameters": {"binary_data_size": size}}
    head = json.dumps({"inputs": [tensor], "parameters": {"binary_data_output": True}}).encode()
    connection = (HTTPSConnection if parts.scheme == "https" else HTTPConnection)(parts.netloc)
    prefix, _, model = parts.path.rstrip("/").rpartition("/")
    path = f"{prefix}/v2/models/{model}/infer"
    connection.request("POST", path, head + content, {"Inference-Header-Content-Length": str(len(head))})
    with connection.getresponse() as response:
        response.read()
    connection.close()
    return response.status


def main(address: str, file: str) -> None:
    """Ends with exit code 1 unless the server is alive."""
    try:
        status = status_of(address, Path(file).read_bytes())
    except (OSError, HTTPException) as error:
        sys.exit(f"{address}: {error}")
    if status not in ALIVE:
        sys.exit(f"{address}: status {status}")


if __name__ == "__main__":
    main(*sys.argv[1:])
