"""The probes of the Dockerfiles in examples/serving, as a container runs them."""

import json
import subprocess
import sys
from pathlib import Path

SERVING = Path(__file__).parents[3] / "examples" / "serving"


def health_check(server: str) -> list[str]:
    """The command of HEALTHCHECK in a server's Dockerfile."""
    _, _, text = (SERVING / f"{server}.Dockerfile").read_text(encoding="utf-8").partition("HEALTHCHECK ")
    _, _, command = text.partition("CMD ")
    words: list[str] = json.loads(command.partition("\n")[0])
    return words


def probe(address: str, image: Path) -> subprocess.CompletedProcess[str]:
    """That of triton.Dockerfile, of the model at another address with another image."""
    places = {
        "python3": sys.executable,
        "probe.py": str(SERVING / "probe.py"),
        "http://localhost:8000/cars": address,
        "street.jpg": str(image),
    }
    command = [places.pop(word) for word in health_check("triton")]
    assert not places
    return subprocess.run(command, capture_output=True, text=True, check=False)
