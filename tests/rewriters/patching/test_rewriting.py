"""Rules 1 to 3 and 7: targets, restoring, the gate, limits."""

import copy
import itertools
import sys
import threading
import traceback
import types
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from rewriters import rewrites, rewriting
from rewriters.patching.origin import rewriter_of
from rewriters.patching.rewriting import active_target
from tests.rewriters.small_models import fixed_target
from zoo.errors import ExportError, InputError

TARGET = fixed_target(64, 96)
DECLARED = {"reason": "a test", "written_for": "zooport 0.1"}


class Base:
    def value(self) -> int:
        return 1

    def other(self) -> int:
        return 10

    @staticmethod
    def doubled(number: int) -> int:
        return 2 * number


class Child(Base):
    pass


def plus_hundred(original: Callable[..., int], *args: Any, **options: Any) -> int:
    return original(*args, **options) + 100


class Failing(torch.nn.Module):
    def forward(self) -> None:
        raise ValueError("the model's own fault")


@pytest.mark.usefixtures("registry_of_its_own")
class TestOrigin:
    """An exception names the rewriter that it comes out of, and no rewriter that merely lies around it."""

    def failing(self, replacement: Any) -> BaseException:
        rewrites(Base, "value", **DECLARED)(replacement)
        with rewriting(TARGET, eager=True), pytest.raises(ValueError, match="fault|case") as caught:
            Base().value()
        return caught.value

    def test_of_a_replacement(self) -> None:
        def replacement(original: Any, self: Base) -> int:
            raise ValueError("not this case")

        error = self.failing(replacement)
        assert rewriter_of(error) == f"{Base.__module__.partition('.')[0]}.Base.value"
        assert "".join(traceback.format_exception(error)).count("zooport's rewriter") == 1

    def test_of_the_innermost_of_two(self) -> None:
        def inner(original: Any, self: Base) -> int:
            raise ValueError("not this case")

        rewrites(Base, "other", **DECLARED)(inner)
        error = self.failing(lambda original, self: self.other())
        assert str(rewriter_of(error)).endswith("Base.other")

    def test_not_of_the_original_that_a_replacement_calls(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fails(self: Base) -> int:
            raise ValueError("the model's own fault")

        monkeypatch.setattr(Base, "value", fails)
        assert rewriter_of(self.failing(lambda original, self: original(self))) is None

    def test_not_of_a_module_that_a_replacement_calls(self) -> None:
        assert rewriter_of(self.failing(lambda original, self: Failing()())) is None


@pytest.mark.usefixtures("registry_of_its_own")
class TestPatching:
    def test_acts_inside_and_is_gone_outside(self) -> None:
        rewrites(Base, "value", **DECLARED)(plus_hundred)
        before = dict(vars(Base))
        with rewriting(TARGET, eager=True) as session:
            assert Base().value() == 101
            assert session.hits == {session.rewriters[0].name: 1}
        assert dict(vars(Base)) == before
        assert Base().value() == 1

    def test_restores_after_an_exception(self) -> None:
        rewrites(Base, "value", **DECLARED)(plus_hundred)
        before = dict(vars(Base))
        with pytest.raises(RuntimeError, match="on purpose"), rewriting(TARGET, eager=True):
            raise RuntimeError("on purpose")
        assert dict(vars(Base)) == before

    def test_nested_contexts_do_not_stack(self) -> None:
        rewrites(Base, "value", **DECLARED)(plus_hundred)
        before = dict(vars(Base))
        with rewriting(TARGET, eager=True):
            with rewriting(TARGET, eager=True) as inner:
                assert Base().value() == 101
                assert sum(inner.hits.values()) == 1
            assert Base().value() == 101
        assert dict(vars(Base)) == before

    def test_a_static_method_stays_one(self) -> None:
        rewrites(Base, "doubled", **DECLARED)(plus_hundred)
        before = dict(vars(Base))
        with rewriting(TARGET, eager=True):
            assert Base.doubled(2) == Base().doubled(2) == Child().doubled(2) == 104
        with rewriting(TARGET):
            assert Base().doubled(2) == 4
        assert dict(vars(Base)) == before
        assert Base().doubled(2) == 4

    def test_an_inherited_method_is_not_left_in_the_subclass(self) -> None:
        rewrites(Child, "value", **DECLARED)(plus_hundred)
        with rewriting(TARGET, eager=True):
            assert Child().value() == 101
            assert Base().value() == 1
        assert "value" not in vars(Child)

    def test_a_missing_second_target_leaves_nothing_patched(self) -> None:
        rewrites(Base, "value", **DECLARED)(plus_hundred)
        rewrites(Base, "no_such_method", reason="a test", written_for="torch 99.9")(plus_hundred)
        before = dict(vars(Base))
        with pytest.raises(ExportError, match=r"Base\.no_such_method.*written for torch 99\.9"), rewriting(TARGET):
            pass
        assert dict(vars(Base)) == before

    def test_a_missing_target_names_the_installed_version(self) -> None:
        rewrites(torch.nn.Linear, "no_such_method", reason="a test", written_for="torch 99.9")(plus_hundred)
        with (
            pytest.raises(ExportError, match=rf"installed is torch {torch.__version__.split('+')[0]}"),
            rewriting(TARGET),
        ):
            pass

    def test_copies_of_a_function_are_patched_too(self) -> None:
        home = types.ModuleType("zooport_test_home")
        user = types.ModuleType("zooport_test_user")
        home.f = user.g = lambda: 1  # type: ignore[attr-defined]
        sys.modules.update(zooport_test_home=home, zooport_test_user=user)
        try:
            rewrites(home, "f", **DECLARED)(plus_hundred)
            with rewriting(TARGET, eager=True):
                assert (home.f(), user.g()) == (101, 101)
            assert (home.f(), user.g()) == (1, 1)
        finally:
            del sys.modules["zooport_test_home"], sys.modules["zooport_test_user"]

    def test_a_copy_made_while_the_patch_is_in_gets_the_original_back(self) -> None:
        home = types.ModuleType("zooport_test_home")
        late = types.ModuleType("zooport_test_late")
        home.f = original = lambda: 1  # type: ignore[attr-defined]
        sys.modules.update(zooport_test_home=home)
        try:
            rewrites(home, "f", **DECLARED)(plus_hundred)
            with rewriting(TARGET, eager=True):
                late.f = home.f  # as `from home import f` in a module that is imported only now
                sys.modules.update(zooport_test_late=late)
            assert late.f is original
            assert home.f is original
        finally:
            del sys.modules["zooport_test_home"], sys.modules["zooport_test_late"]

    def test_a_call_that_is_not_its_case_gets_the_original_and_counts_nothing(self) -> None:
        rewrites(Base, "value", **DECLARED)(lambda _original, _self: NotImplemented)
        with rewriting(TARGET, eager=True) as session:
            assert Base().value() == 1
        assert not session.hits


@pytest.mark.usefixtures("registry_of_its_own")
class TestGate:
    def test_outside_an_export_the_original_runs(self) -> None:
        rewrites(Base, "value", **DECLARED)(plus_hundred)
        with rewriting(TARGET) as session:
            assert Base().value() == 1
        assert not session.hits

    def test_during_an_export_the_replacement_runs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        rewrites(Base, "value", **DECLARED)(plus_hundred)
        monkeypatch.setattr(torch.onnx, "is_in_onnx_export", lambda: True)
        with rewriting(TARGET):
            assert Base().value() == 101

    def test_a_rewriter_may_replace_what_says_that_an_export_runs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The gate asks torch's own function all the same."""
        monkeypatch.setattr(torch.onnx, "is_in_onnx_export", lambda: True)
        rewrites(torch.onnx, "is_in_onnx_export", **DECLARED)(lambda original: False)
        rewrites(Base, "value", **DECLARED)(plus_hundred)
        with rewriting(TARGET) as session:
            assert not torch.onnx.is_in_onnx_export()
            assert Base().value() == 101
        assert torch.onnx.is_in_onnx_export()
        assert session.hits["torch.onnx.is_in_onnx_export"] == 1

    def test_another_thread_gets_the_original(self, monkeypatch: pytest.MonkeyPatch) -> None:
        rewrites(Base, "value", **DECLARED)(plus_hundred)
        monkeypatch.setattr(torch.onnx, "is_in_onnx_export", lambda: True)
        seen: list[int] = []
        with rewriting(TARGET):
            thread = threading.Thread(target=lambda: seen.append(Base().value()))
            thread.start()
            thread.join()
        assert seen == [1]

    def test_exports_of_two_threads_wait_for_each_other(self) -> None:
        entered = threading.Event()

        def other() -> None:
            with rewriting(TARGET):
                entered.set()

        with rewriting(TARGET):
            thread = threading.Thread(target=other)
            thread.start()
            assert not entered.wait(0.05)
        thread.join()
        assert entered.is_set()

    def test_active_target_is_that_of_the_innermost_context(self) -> None:
        inner = TARGET.with_(opset=19)
        with rewriting(TARGET):
            with rewriting(inner):
                assert active_target() == inner
            assert active_target() == TARGET
        with pytest.raises(ExportError, match="no export runs"):
            active_target()


@pytest.mark.usefixtures("registry_of_its_own")
class TestLimits:
    def test_limited_rewriters_stay_out_of_other_targets(self) -> None:
        rewrites(Base, "value", exporter="torchscript", **DECLARED)(plus_hundred)
        rewrites(Base, "other", opset=(18, 19), **DECLARED)(plus_hundred)
        with rewriting(TARGET, eager=True):
            assert (Base().value(), Base().other()) == (1, 10)
        with rewriting(TARGET.with_(exporter="torchscript", opset=18), eager=True):
            assert (Base().value(), Base().other()) == (101, 110)

    def test_a_level_limits_too(self) -> None:
        rewrites(Base, "value", levels=("final", "pillars"), **DECLARED)(plus_hundred)
        for level, value in (("final", 101), ("pillars", 101), ("raw", 1)):
            with rewriting(TARGET.with_(level=level), eager=True):
                assert Base().value() == value
        for levels in (("finals",), "final"):
            with pytest.raises(ExportError, match="expected a tuple of final, decoded, raw"):
                rewrites(Base, "other", levels=levels, **DECLARED)(plus_hundred)

    def test_a_library_limit_reads_the_installed_version(self) -> None:
        rewrites(Base, "value", library="torch>=2.0", **DECLARED)(plus_hundred)
        rewrites(Base, "other", library="torch>=99.0", **DECLARED)(plus_hundred)
        with rewriting(TARGET, eager=True):
            assert (Base().value(), Base().other()) == (101, 10)

    def test_the_more_specific_of_two_wins(self) -> None:
        rewrites(Base, "value", **DECLARED)(lambda original, self: 2)
        rewrites(Base, "value", exporter="dynamo", **DECLARED)(lambda original, self: 3)
        with rewriting(TARGET, eager=True):
            assert Base().value() == 3
        with rewriting(TARGET.with_(exporter="torchscript"), eager=True):
            assert Base().value() == 2

    def test_two_of_which_none_is_more_specific_are_an_error(self) -> None:
        rewrites(Base, "value", exporter="dynamo", **DECLARED)(lambda original, self: 2)
        rewrites(Base, "value", backend="onnxruntime", **DECLARED)(lambda original, self: 3)
        with (
            pytest.raises(ExportError, match="2 are for this target .* none is narrower"),
            rewriting(TARGET),
        ):
            pass

    def test_the_same_target_with_the_same_limits_is_an_error(self) -> None:
        rewrites(Base, "value", **DECLARED)(plus_hundred)
        with pytest.raises(ExportError, match="declared twice"):
            rewrites(Base, "value", **DECLARED)(plus_hundred)

    def test_an_unknown_option_is_an_error(self) -> None:
        def replacement(original: Callable[..., int], self: Base, *, speed: str = "fast") -> int:
            return len(speed)

        rewrites(Base, "value", **DECLARED)(replacement)
        with rewriting(TARGET, eager=True) as session:
            name = session.rewriters[0].name
        with rewriting(TARGET, eager=True, options={name: {"speed": "slower"}}):
            assert Base().value() == 6
        with (
            pytest.raises(InputError, match='no option "sped"; it has: speed'),
            rewriting(TARGET, options={name: {"sped": 1}}),
        ):
            pass

    @pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
    def test_the_most_specific_one_does_not_depend_on_the_order(self, order: Sequence[int]) -> None:
        limits: list[dict[str, Any]] = [{"exporter": "dynamo"}, {"opset": (18, 20)}]
        limits.append({**limits[0], **limits[1]})
        for place in order:
            rewrites(Base, "value", **limits[place], **DECLARED)(lambda original, self, place=place: place)
        with rewriting(TARGET.with_(exporter="dynamo", opset=20), eager=True):
            assert Base().value() == 2

    def test_some_levels_are_narrower_than_more_of_them(self) -> None:
        rewrites(Base, "value", levels=("final", "pillars"), **DECLARED)(lambda original, self: 2)
        rewrites(Base, "value", levels=("final",), **DECLARED)(lambda original, self: 3)
        with rewriting(TARGET, eager=True):
            assert Base().value() == 3


def test_targets_with_unknown_fields_are_refused() -> None:
    with pytest.raises(InputError, match='unknown target field "exportr"; nearest: "exporter"'):
        copy.copy(TARGET).with_(exportr="dynamo")
