"""What references stand for, and what they refuse."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
from typing import Any

import fiddle as fdl
import numpy as np
import pytest
from fiddle.experimental import auto_config

from fdlkit.graph.build import build
from fdlkit.graph.model import UNKNOWN, Link
from fdlkit.graph.paths import PathError, parse
from fdlkit.graph.references import Reference, UnresolvedReferenceError, ref, show
from fdlkit.graph.resolve import BrokenReferenceError, resolved_value


@dataclasses.dataclass(frozen=True)
class Node:
    a: Any = None
    b: Any = None
    xs: Any = ()


@dataclasses.dataclass(frozen=True)
class Mlp:
    width: int
    dropout: float = 0.5
    shape: list[int] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Model:
    hidden: int
    block: Any = None
    head: Any = None


@dataclasses.dataclass(frozen=True)
class Trainer:
    model: Any
    num_train_steps: int = 1000
    extra: Any = None


def trainer(**kwargs: Any) -> fdl.Config[Trainer]:
    model = fdl.Config(Model, 64, block=fdl.Config(Mlp, width=ref("^hidden") * 4))
    return fdl.Config(Trainer, model=model, **kwargs)


def test_an_absolute_reference_starts_at_what_is_built():
    config = trainer(extra=[ref("num_train_steps") // 3, ref("model.hidden")])
    config.num_train_steps = 300
    assert build(config).extra == [100, 64]


def test_a_reference_to_an_unset_argument_means_its_default():
    assert build(trainer(extra=ref("num_train_steps"))).extra == 1000


def test_one_dot_is_the_holders_own_node_and_each_further_dot_one_around_it():
    config = fdl.Config(
        Model,
        hidden=3,
        block=[{"k": fdl.Config(Node, a=7, b=[ref(".a")], xs=(ref("..hidden"),))}],
    )
    inner = build(config).block[0]["k"]
    assert inner.b == [7] and inner.xs == (3,)


def test_a_caret_is_the_nearest_enclosing_node_that_has_the_parameter():
    inner = fdl.Config(
        Model, 3, block=fdl.Config(Node, a=[fdl.Config(Node, b=ref("^hidden"))])
    )
    assert build(fdl.Config(Model, 99, block=inner)).block.block.a[0].b == 3


def test_a_caret_looks_around_the_holder_not_at_it():
    config = fdl.Config(Model, 5, block=fdl.Config(Model, hidden=ref("^hidden") + 1))
    assert build(config).block.hidden == 6


@pytest.mark.parametrize("wrap", [lambda c: c, lambda c: fdl.Config(Node, a=[c])])
def test_relative_and_caret_references_survive_moving_what_holds_both_ends(wrap):
    config = trainer()
    config.model.head = fdl.Config(Node, a=ref("..hidden"))
    moved = build(wrap(config.model))
    model = moved if isinstance(moved, Model) else moved.a[0]
    assert (model.block.width, model.head.a) == (256, 64)


def test_a_caret_survives_a_node_put_between():
    config = trainer()
    config.model.block = fdl.Config(Node, a=config.model.block)
    assert build(config).model.block.a.width == 256


def test_arithmetic_works_from_both_sides_and_on_two_references():
    config = fdl.Config(
        Node,
        a=8,
        b=3,
        xs=[
            ref("a") + 1, 1 + ref("a"), ref("a") - 1, 1 - ref("a"), ref("a") * 2,
            2 * ref("a"), ref("a") / 2, 2 / ref("a"), ref("a") // 3, 20 // ref("a"),
            ref("a") * ref("b") - ref("b"), np.float32(2) * ref("a"),
        ],
    )  # fmt: skip
    assert build(config).xs == [9, 9, 7, -7, 16, 16, 4.0, 0.25, 2, 2, 21, 16.0]


def test_one_reference_object_in_two_places_means_two_things():
    shared = ref("^hidden")
    config = [
        fdl.Config(Model, 1, block=fdl.Config(Mlp, shared)),
        fdl.Config(Model, 2, block=fdl.Config(Mlp, shared)),
    ]
    assert [model.block.width for model in build(config)] == [1, 2]


def test_equal_tuples_of_relative_references_mean_what_their_places_make_them_mean():
    config = [fdl.Config(Node, a=n, xs=(ref(".a"),)) for n in (1, 2)]
    assert [node.xs for node in build(config)] == [(1,), (2,)]


def test_a_reference_to_a_node_is_that_very_object():
    config = trainer(extra={"same": ref("model.block")})
    built = build(config)
    assert built.extra["same"] is built.model.block


def test_a_reference_goes_on_through_a_reference_to_a_node():
    config = trainer(extra=[ref("model"), ref("extra[0].hidden") + 1])
    assert build(config).extra[1] == 65


def test_list_indices_may_count_from_the_end_and_keys_be_written_as_names():
    config = fdl.Config(
        Node, a=[1, 2, 3], b={"k": 5}, xs=[ref("a[-1]"), ref("b['k']"), ref("b.k")]
    )
    assert build(config).xs == [3, 5, 5]


def test_the_built_value_of_a_node_can_be_computed_with():
    config = fdl.Config(Node, a=fdl.Config(math.sqrt, 16.0), b=ref("a") * 2)
    assert build(config).b == 8.0


def test_references_work_in_partials_and_their_factories():
    config = trainer(
        extra=fdl.Partial(
            Node,
            a=ref("num_train_steps"),
            b=fdl.ArgFactory(Mlp, width=ref("num_train_steps") // 10),
        )
    )
    partial = build(config).extra
    one, two = partial(), partial()
    assert one.a == 1000 and one.b.width == 100
    assert one.b == two.b and one.b is not two.b


def test_references_work_inside_auto_config():
    @auto_config.auto_config
    def make():
        return Trainer(model=Model(hidden=6, block=Mlp(width=ref("^hidden") * 2)))

    config = make.as_buildable()
    assert isinstance(config.model.block.width, Reference)
    assert build(config).model.block.width == 12


def test_a_shared_node_with_one_meaning_builds_and_with_two_is_refused():
    block = fdl.Config(Mlp, width=ref("..hidden"))
    config = [fdl.Config(Model, 1, block=block), fdl.Config(Model, 2, block=block)]
    with pytest.raises(BrokenReferenceError) as refused:
        build(config)
    assert refused.value.lines[0] == (
        "a shared node's reference means two things: [0].block.width = ref(..hidden)"
    )
    assert set(refused.value.lines[1:3]) == {
        "  [0].hidden is 1",
        "  [1].hidden is 2",
    }
    config[1].hidden = 1
    built = build(config)
    assert built[0].block is built[1].block and built[0].block.width == 1


def test_a_circle_is_refused_with_its_whole_chain():
    config = trainer(extra=[ref("model.hidden") + 1])
    config.model.hidden = ref("model.block.width")
    config.model.block.width = ref("extra[0]")
    with pytest.raises(BrokenReferenceError) as refused:
        build(config)
    lines = refused.value.lines
    assert lines[0] == "references form a circle"
    assert set(lines[1:]) == {
        "  model.hidden = ref(model.block.width)",
        "  model.block.width = ref(extra[0])",
        "  extra[0] = ref(model.hidden) + 1",
    }


def test_a_reference_to_itself_is_a_circle():
    with pytest.raises(BrokenReferenceError, match="circle\n  num_train_steps = ref"):
        build(trainer(num_train_steps=ref("num_train_steps") + 1))


def test_a_reference_to_what_holds_it_is_a_circle():
    config = trainer()
    config.model.block.dropout = ref("model")
    with pytest.raises(BrokenReferenceError) as refused:
        build(config)
    assert refused.value.lines[0] == "references form a circle"
    assert "  model.block.dropout = ref(model)" in refused.value.lines


def test_a_missing_path_names_the_nearest_ancestor_and_what_was_likely_meant():
    config = trainer(extra=ref("model.hiden") * 2)
    with pytest.raises(BrokenReferenceError) as refused:
        build(config)
    assert refused.value.lines == (
        "reference leads nowhere: extra = ref(model.hiden) * 2",
        f"  no parameter hiden at model ({__name__}.Model)",
        "  did you mean 'hidden'?",
        "  parameters: hidden, block, head",
        "  or set extra itself",
    )


def test_a_path_into_a_leaf_leads_nowhere():
    with pytest.raises(BrokenReferenceError) as refused:
        build(trainer(extra=ref("model.hidden.x")))
    assert refused.value.lines[1] == "  model.hidden is 64, which has nothing in it"


def test_a_caret_that_finds_nothing_says_what_is_around():
    config = fdl.Config(
        Node, a=fdl.Config(Model, 1, block=fdl.Config(Mlp, ref("^hiden")))
    )
    with pytest.raises(BrokenReferenceError) as refused:
        build(config)
    assert refused.value.lines == (
        "reference leads nowhere: a.block.width = ref(^hiden)",
        "  no node around it has a parameter 'hiden'",
        "  did you mean 'hidden'?",
        f"  around it: a ({__name__}.Model)",
        f"  around it: <root> ({__name__}.Node)",
    )


def test_too_many_dots_climb_out():
    with pytest.raises(BrokenReferenceError, match="climbs out of the config: extra ="):
        build(trainer(extra=ref("..x")))


def test_a_reference_to_a_default_that_a_factory_makes_is_refused():
    config = trainer(extra=ref("model.block.shape"))
    with pytest.raises(BrokenReferenceError, match="made by a default factory"):
        build(config)


def test_no_constructor_runs_when_a_reference_is_broken():
    made = []
    config = [fdl.Config(made.append, 1), fdl.Config(Node, a=ref("[7]"))]
    with pytest.raises(BrokenReferenceError):
        build(config)
    assert made == []


def test_what_cannot_be_computed_says_with_what():
    config = fdl.Config(Node, a="text", b=ref("a") * 2.5)
    with pytest.raises(BrokenReferenceError) as refused:
        build(config)
    assert refused.value.lines[0] == "cannot compute b = ref(a) * 2.5"
    assert isinstance(refused.value.__cause__, TypeError)


def test_fiddles_build_refuses_a_reference():
    with pytest.raises(UnresolvedReferenceError, match=r"use fdlkit\.build"):
        fdl.build(trainer())


@pytest.mark.parametrize(
    "use",
    [
        bool, int, float, complex, len, iter, list, round, range, math.sqrt, hash,
        lambda r: r < 1, lambda r: r >= 1, lambda r: max(r, 3), lambda r: r[0],
        lambda r: r(), lambda r: 1 in r, lambda r: [1, 2][r],
    ],
)  # fmt: skip
def test_a_reference_cannot_be_used_as_if_it_had_a_value(use):
    with pytest.raises(TypeError):
        use(ref("a"))


def test_the_refusal_names_the_reference_and_the_way_out():
    with pytest.raises(
        UnresolvedReferenceError, match=r"ref\(a\) // 3 has no value yet"
    ):
        bool(ref("a") // 3)


def test_an_attribute_of_a_reference_is_refused_with_a_hint():
    with pytest.raises(AttributeError, match="write the longer path"):
        _ = ref("model").hidden


def test_references_compare_by_what_they_say():
    assert ref("a") * 2 == ref("a") * 2
    assert ref("a") * 2 != ref("a") * 3
    assert ref("a") != 3


@pytest.mark.parametrize("text", ["", "a..b", "^", "^[0]", ".", "a b", "a[", "3"])
def test_a_bad_path_is_refused_where_it_is_written(text):
    if text == "3":
        assert show(ref(text)) == "ref(3)"  # an index into a list at the root
        return
    with pytest.raises(PathError):
        ref(text)


def test_show_writes_parentheses_only_where_they_are_needed():
    for reference, text in [
        (ref("num_train_steps") // 3, "ref(num_train_steps) // 3"),
        ((ref("a") + 1) * 2, "(ref(a) + 1) * 2"),
        (ref("a") - (ref("b") - 1), "ref(a) - (ref(b) - 1)"),
        (1 + ref("a") * 2, "1 + ref(a) * 2"),
        (ref("^h.x") - 1 - 2, "ref(^h.x) - 1 - 2"),
    ]:
        assert show(reference) == text == repr(reference)


def test_references_pickle_and_copy():
    config = trainer(extra=ref("num_train_steps") // 3)
    for again in (
        pickle.loads(pickle.dumps(config)),
        copy.deepcopy(config),
        copy.copy(config),
    ):
        assert again == config
        assert build(again).extra == 333


def test_long_chains_of_references_and_of_arithmetic_resolve():
    there = fdl.Config(Node, xs=[1, *(ref(f"xs[{n}]") + 1 for n in range(3000))])
    back = fdl.Config(Node, xs=[*(ref(f"xs[{n + 1}]") + 1 for n in range(3000)), 1])
    assert build(there).xs[-1] == 3001 and build(back).xs[0] == 3001
    total = ref("a")
    for _ in range(3000):
        total = total + 1
    assert build(fdl.Config(Node, a=1, b=total)).b == 3001


def test_carets_from_the_bottom_of_a_deep_config_reach_the_top():
    config: Any = fdl.Config(Node, a=ref("^hidden"))
    for _ in range(3000):
        config = fdl.Config(Node, a=[config], b=ref("^hidden"))
    built = build(fdl.Config(Model, 5, block=config)).block
    while isinstance(built, Node):
        last, built = built, built.a[0] if isinstance(built.a, list) else built.a
    assert last.a == 5 and built == 5


def test_resolved_values_are_told_without_building():
    config = trainer(extra=[ref("num_train_steps") // 3, ref("model")])
    told = {
        text: resolved_value(config, parse(text))
        for text in ("extra[0]", "model.block.width", "model.block.dropout",
                     "num_train_steps", "extra[1].hidden")
    }  # fmt: skip
    assert list(told.values()) == [333, 256, 0.5, 1000, 64]
    assert isinstance(resolved_value(config, ("extra", 1)), Link)
    assert resolved_value(config, ("model", "block", "shape")) is UNKNOWN
    with pytest.raises(KeyError):
        resolved_value(config, ("model", "nothing"))
