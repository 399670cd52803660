import pytest


@pytest.mark.usefixtures("benchmarks")
def test_each_fault_of_the_runtime_replaces_what_is_there() -> None:
    from fault_list import FAULTS

    faults = [fault for fault in FAULTS if fault.kind == "runtime"]
    for fault in faults:
        with fault.runtime():
            pass
    assert faults
