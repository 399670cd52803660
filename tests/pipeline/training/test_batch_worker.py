import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

ROOT = Path(__file__).resolve().parents[3]
HANGS_UP = """
    from multiprocessing import current_process, resource_sharer
    from multiprocessing.connection import Client

    import torch
    from torch.utils.data import DataLoader, Dataset

    from pipeline.training.batch_worker import without_hang_ups


    class Addresses(Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, place):
            address, _ = resource_sharer.DupFd(1)._id
            return torch.tensor(list(address.encode()))


    batches = iter(DataLoader(Addresses(), num_workers=1, worker_init_fn={init}))
    address = bytes(next(batches)[0].tolist()).decode()
    connection = Client(address, authkey=current_process().authkey)
    if {wrong}:
        connection.send("not a key and a process")
    connection.close()
    print(len(list(batches)))  # the thread has handed these over after that call
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere tensors are handed over in files, without a thread")
@pytest.mark.parametrize(
    ("init", "wrong", "reported"),
    [("None", False, "EOFError"), ("without_hang_ups", False, None), ("without_hang_ups", True, "ValueError")],
)
def test_a_worker_does_not_report_that_the_training_has_hung_up(init: str, wrong: bool, reported: str | None) -> None:
    code = dedent(HANGS_UP).format(init=init, wrong=wrong)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout == "3\n"
    if reported is None:
        assert done.stderr == ""
    else:
        assert reported in done.stderr
