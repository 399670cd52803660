"""Every shipped model by both exporters: no fault at the default threshold, and a planted one is named."""

import pytest

from pipeline.alignment.aligning import MEMORY, THRESHOLDS, align_subject
from pipeline.alignment.subject import load_subject
from pipeline.base.steps import unseen
from pipeline.job.deploy_target import deploy_target
from rewriters.onnx_graph.module_paths import module_path
from tests.pipeline.alignment.planted import perturb
from tests.zoo_configs import SHIPPED, buildable
from zoo.config import load_config
from zoo.target import EXPORTERS


def test_all_are_here() -> None:
    assert len(SHIPPED) == 21


@pytest.mark.slow
@pytest.mark.parametrize("exporter", EXPORTERS)
@pytest.mark.parametrize("config", buildable(SHIPPED))
def test_a_shipped_model_has_no_fault_and_a_planted_one_is_named(config: str, exporter: str) -> None:
    loaded = load_config(config)
    target = deploy_target(loaded, exporter=exporter)
    subject = load_subject(loaded, target, (), checkpoint=None, deployment=None, onnx_file=None, progress=unseen)
    found = align_subject(subject, THRESHOLDS["fp32"], MEMORY)
    assert found.passed, found.verdict
    assert found.changed == 0.0
    stored = {tensor.name for tensor in subject.model.graph.initializer}
    nodes = [node for node in subject.model.graph.node if node.op_type == "Conv" and node.input[1] in stored]
    module = module_path(nodes[len(nodes) // 2])
    assert module is not None
    perturb(subject.model, module)
    first = align_subject(subject, THRESHOLDS["fp32"], MEMORY, images=1).first
    assert first is not None
    assert first.modules[0] == module
    assert len(first.modules) <= 2  # with the batch norm that was folded into it
