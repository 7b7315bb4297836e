"""Every writer of a value is found, in order, whatever wrote it."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
from typing import Any, NamedTuple

import fiddle as fdl
import hypothesis
import pytest
from fiddle import selectors, tagging
from fiddle.experimental.auto_config import auto_config

import fdlkit
from fdlkit.errors import UserError
from fdlkit.graph.origins import written_by_lines
from fdlkit.graph.provenance import Explanation
from fdlkit.graph.references import ref
from fdlkit.graph.snapshot import snapshot
from fdlkit.overrides.apply import Override, apply
from fdlkit.overrides.explain import explain, explain_all
from fdlkit.view.explanation import render
from fdlkit.view.tree import tree
from tests.graph.configs import configs


class Rate(fdl.Tag):
    """A rate."""


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclasses.dataclass
class Axes:
    data: int = -1


@dataclasses.dataclass
class Mesh:
    ici: Axes = dataclasses.field(default_factory=Axes)


@dataclasses.dataclass
class Mlp:
    width: int
    rate: float = 0.1
    names: tuple[str, ...] = ("a", "b")


@dataclasses.dataclass
class Gated:
    width: int
    gates: int = 2


@dataclasses.dataclass
class Model:
    hidden: int = 4
    mlp: Any = None
    widths: list[int] = dataclasses.field(default_factory=list)
    table: dict[str, int] = dataclasses.field(default_factory=dict)
    mesh: Mesh = dataclasses.field(default_factory=Mesh)
    pair: Any = None


def function(first, /, second: int = 2, *rest, third: float = 3.0, **named):
    return first, second, rest, third, named


def line_of(text: str) -> int:
    """The line of this file that holds `text`, which must be one."""
    lines = inspect.getsource(inspect.getmodule(line_of)).splitlines()
    found = [
        n for n, line in enumerate(lines, 1) if text in line and "line_of" not in line
    ]
    assert len(found) == 1, (text, found)
    return found[0]


def base() -> fdl.Config[Model]:
    mlp = fdl.Config(Mlp, width=ref("^hidden") * 4)  # makes the mlp
    model = fdl.Config(Model, hidden=64, mlp=mlp)  # makes the model
    model.widths = [1, 2, 3]  # writes the widths
    return model


def told(explanation: Explanation) -> list[tuple]:
    """Kind, what was written (path only if another), and by what."""
    rows = []
    for write in explanation.writes:
        at, value = write.origin, write.value
        if write.path != explanation.path:
            value = f"{write.path} = {value}".removesuffix(" = ")
        by = None
        if at is not None and at.file == __file__:
            by = at.line if at.cause is None else (at.line, str(at.cause))
        elif at is not None:
            by = str(at.cause or at.file)
        rows.append((write.kind, value, by))
    return rows


def overridden(*texts: str, cfg: Any = None) -> Any:
    kinds = {"%": "tag", "@": "fiddler"}
    overrides = [
        Override(kinds.get(text[0], "set"), text.lstrip("%@")) for text in texts
    ]
    module = inspect.getmodule(overridden)
    return apply(base() if cfg is None else cfg, overrides, module)[0]


def small(cfg: fdl.Config[Model], to: int = 1) -> None:
    cfg.hidden = to  # the fiddler writes


def selecting(cfg: fdl.Config[Model]) -> None:
    selectors.select(cfg, Mlp).set(rate=0.5)  # selects and sets


def test_a_default_the_files_line_and_each_override_come_in_order():
    cfg = overridden("hidden=8", "@small(to=16)", "hidden+=1")
    explained = explain(cfg, "hidden")
    assert told(explained) == [
        ("default", "4", line_of("hidden: int = 4")),
        ("set", "64", line_of("# makes the model")),
        ("set", "8", "--fdl_set #1: hidden=8"),
        (
            "set",
            "16",
            (line_of("# the fiddler writes"), "--fdl_fiddler #2: small(to=16)"),
        ),
        ("set", "17", "--fdl_set #3: hidden+=1"),
    ]
    assert (explained.status, explained.value, explained.result) == ("set", "17", "17")
    assert explained.annotation == "int"


def test_a_reference_is_followed_to_what_decides_it():
    explained = explain(overridden("hidden=8"), "mlp.width")
    assert told(explained) == [("set", "ref(^hidden) * 4", line_of("# makes the mlp"))]
    assert (explained.value, explained.result) == ("ref(^hidden) * 4", "32")
    (hop,) = explained.hops
    assert (hop.path, hop.value, hop.level, hop.is_default) == ("hidden", "8", 0, False)
    assert str(hop.origin.cause) == "--fdl_set #1: hidden=8"


def test_a_chain_of_references_is_told_hop_by_hop():
    cfg = fdl.Config(dict, a=ref("b") + ref("c"), b=ref("c"), c=3)
    explained = explain(cfg, "a")
    assert explained.result == "6"
    assert [(hop.level, hop.path, hop.value) for hop in explained.hops] == [
        (0, "b", "ref(c)"),
        (1, "c", "3"),
    ]


def test_a_reference_to_a_default_says_so():
    cfg = fdl.Config(Model, mlp=fdl.Config(Mlp, ref("^hidden")))
    explained = explain(cfg, "mlp.width")
    assert explained.result == "4"
    assert [hop.is_default for hop in explained.hops] == [True]


def test_a_link_that_was_cut_is_told():
    explained = explain(overridden("mlp.width+=1"), "mlp.width")
    assert [write.cut for write in explained.writes] == ["", "ref(^hidden) * 4"]
    assert (explained.value, explained.hops) == ("257", ())


def test_a_reference_without_a_value_is_explained_as_far_as_it_goes():
    cfg = fdl.Config(Model, hidden=ref("mlp.wdth"), mlp=fdl.Config(Mlp, 1))
    explained = explain(cfg, "hidden")
    assert explained.result is None
    assert explained.problem[0] == "reference leads nowhere: hidden = ref(mlp.wdth)"
    assert "  did you mean 'width'?" in explained.problem


def test_what_was_unset_falls_back_to_its_default():
    explained = explain(overridden("~hidden"), "hidden")
    assert told(explained)[-1] == ("unset", "", "--fdl_set #1: ~hidden")
    assert (explained.status, explained.value, explained.result) == (
        "default",
        "4",
        "4",
    )


def test_a_required_argument_that_nothing_wrote_is_missing():
    cfg = fdl.Config(Model, mlp=fdl.Config(Mlp))
    explained = explain(cfg, "mlp.width")
    assert (explained.status, explained.value, explained.writes) == ("missing", "", ())


def test_a_partial_may_be_told_the_rest_when_it_is_called():
    explained = explain(fdl.Partial(Mlp), "width")
    assert explained.status == "missing"
    assert "gets width when it is called, or not at all" in render(explained)


def test_a_default_factory_is_named_and_not_called():
    explained = explain(fdl.Config(Model), "mesh")
    assert told(explained) == [("factory", "Mesh()", line_of("mesh: Mesh ="))]
    assert (explained.status, explained.result) == ("factory", None)


def test_a_swap_is_told_with_what_it_dropped():
    cfg = overridden("mlp.rate=.5", "mlp=Gated", "mlp.gates=3")
    explained = explain(cfg, "mlp")
    assert told(explained)[-1] == (
        "callable",
        f"{__name__}.Gated",
        "--fdl_set #2: mlp=Gated",
    )
    assert told(explained)[1][:2] == ("set", "Mlp(...)")
    assert explained.node.callable == f"{__name__}.Gated"
    assert explained.node.made.line == line_of("# makes the mlp")
    assert told(explain(cfg, "mlp.gates")) == [
        ("default", "2", line_of("gates: int = 2")),
        ("callable", f"mlp = {__name__}.Gated", "--fdl_set #2: mlp=Gated"),
        ("set", "3", "--fdl_set #3: mlp.gates=3"),
    ]
    again = overridden("mlp=Mlp", cfg=cfg)
    assert ("unset", "", "--fdl_set #2: mlp=Gated") in told(explain(again, "mlp.rate"))


def test_update_callable_in_a_file_is_a_swap_too():
    cfg = base()
    fdl.update_callable(cfg.mlp, Gated)  # swaps by hand
    at = line_of("# swaps by hand")
    assert told(explain(cfg, "mlp"))[-1] == ("callable", f"{__name__}.Gated", at)


def test_a_node_that_was_replaced_is_told_with_what_was_in_it():
    cfg = overridden("mlp.rate=.5", "mlp=Mlp(width=3)", "mlp.rate=.7")
    rate = told(explain(cfg, "mlp.rate"))
    assert rate == [
        ("default", "0.1", line_of("rate: float = 0.1")),
        ("set", "0.5", "--fdl_set #1: mlp.rate=.5"),
        ("set", "mlp = Mlp(...)", "--fdl_set #2: mlp=Mlp(width=3)"),
        ("set", "0.7", "--fdl_set #3: mlp.rate=.7"),
    ]
    assert [row[1] for row in told(explain(cfg, "mlp.width"))] == [
        "ref(^hidden) * 4",
        "3",
        "mlp = Mlp(...)",
    ]


def test_what_a_replaced_node_became_elsewhere_later_is_not_told():
    cfg = fdl.Config(dict, a=fdl.Config(Mlp, 1), b=None)
    cfg.b, cfg.a = cfg.a, fdl.Config(Mlp, 2)
    cfg.b.width = 3
    assert [row[1] for row in told(explain(cfg, "a.width"))] == [
        "1",
        "2",
        "a = Mlp(...)",
    ]
    assert [row[1] for row in told(explain(cfg, "b.width"))] == [
        "1",
        "b = Mlp(...)",
        "3",
    ]


def test_elements_are_told_with_their_list_and_their_own_overrides():
    cfg = overridden("widths[0]=7", "widths[-1]=9", "widths+=[4]")
    whole = ("set", "[1, 2, 3]", line_of("# writes the widths"))
    assert told(explain(cfg, "widths"))[1:] == [
        whole,
        ("set", "widths[0] = 7", "--fdl_set #1: widths[0]=7"),
        ("set", "widths[2] = 9", "--fdl_set #2: widths[-1]=9"),
        ("set", "[7, 2, 9, 4]", "--fdl_set #3: widths+=[4]"),
    ]
    of_list = ("set", "widths = [1, 2, 3]", whole[2])
    again = ("set", "widths = [7, 2, 9, 4]", "--fdl_set #3: widths+=[4]")
    assert told(explain(cfg, "widths[0]")) == [
        of_list,
        ("set", "7", "--fdl_set #1: widths[0]=7"),
        again,
    ]
    assert told(explain(cfg, "widths.1")) == [of_list, again]


def test_an_element_that_was_taken_away_moves_the_others():
    cfg = overridden("~widths[0]")
    assert told(explain(cfg, "widths[0]")) == [
        ("set", "widths = [1, 2, 3]", line_of("# writes the widths")),
        ("set", "widths = [2, 3]", "--fdl_set #1: ~widths[0]"),
    ]


def test_entries_of_dicts_fields_of_namedtuples_and_elements_of_tuples():
    cfg = base()
    cfg.table = {"k": 1, "l": 2}
    cfg.pair = Pair(fdl.Config(Mlp, 1), (5, 6))
    cfg = overridden("table['k']=3", "~table.l", "pair.right[1]=7", cfg=cfg)
    assert told(explain(cfg, "table.k"))[-1] == (
        "set",
        "3",
        "--fdl_set #1: table['k']=3",
    )
    assert told(explain(cfg, "table"))[-1][:2] == ("unset", "table['l']")
    assert explain(cfg, "table[k]").path == "table['k']"
    assert told(explain(cfg, "pair.right[1]"))[-1] == (
        "set",
        "7",
        "--fdl_set #3: pair.right[1]=7",
    )
    assert all("#3" not in str(row) for row in told(explain(cfg, "pair.right[0]")))
    assert explain(cfg, "pair.left.width").value == "1"


def test_a_node_in_a_list_is_replaced_in_its_place_alone():
    cfg = fdl.Config(dict, layers=[fdl.Config(Mlp, 1), fdl.Config(Mlp, 2)])
    cfg = overridden("layers[0].width=9", "layers[0]=Mlp(width=5)", cfg=cfg)
    assert [row[1] for row in told(explain(cfg, "layers[0].width"))] == [
        "1",
        "9",
        "5",
        "layers[0] = Mlp(...)",
    ]
    assert [row[1] for row in told(explain(cfg, "layers[1].width"))] == ["2"]


def test_tags_and_overrides_by_tag_are_told():
    cfg = base()
    fdl.add_tag(cfg.mlp, "rate", Rate)
    explained = explain(overridden("%Rate=.25", cfg=cfg), "mlp.rate")
    assert explained.tags == ("Rate",)
    assert [(kind, value) for kind, value, _ in told(explained)] == [
        ("default", "0.1"),
        ("tags", "#Rate"),
        ("set", "0.25"),
    ]
    assert told(explained)[-1][2] == "--fdl_tag #1: Rate=.25"


def test_a_tagged_value_in_a_container_is_explained():
    cfg = fdl.Config(dict, xs=[tagging.TaggedValue(tags=[Rate], default=0.5)])
    assert explain(cfg, "xs[0]").node.callable == "TaggedValue"
    assert explain(cfg, "xs[0]").result == "0.5"
    assert explain(cfg, "xs[0].value").tags == ("Rate",)


def test_a_node_is_told_with_what_it_calls_and_all_its_paths():
    mlp = fdl.Partial(Mlp, width=1)
    cfg = fdl.Config(dict, a=mlp, b=[mlp], c=fdl.Config(dict, d=mlp))
    explained = explain(cfg, "b[0]")
    assert explained.paths == ("b[0]", "a", "c.d")
    assert explained.path_count == 3
    assert (explained.node.kind, explained.node.callable) == (
        "partial",
        f"{__name__}.Mlp",
    )
    assert explained.node.defined.line == line_of("class Mlp:")
    assert explained.result is None
    assert explain(cfg, "a.width").paths == ("a.width", "b[0].width", "c.d.width")


def test_the_root_is_a_node_like_any_other():
    for text in ("", "<root>"):
        explained = explain(base(), text)
        assert explained.path == "<root>"
        assert explained.node.made.line == line_of("# makes the model")
        assert explained.taker is None


def test_a_path_goes_on_through_a_reference():
    cfg = fdl.Config(dict, model=base(), alias=ref("model"), far=ref("alias.mlp"))
    explained = explain(cfg, "far.rate")
    assert (explained.asked, explained.path) == ("far.rate", "model.mlp.rate")
    assert explained.followed == ("far = ref(alias.mlp)",)
    assert explain(cfg, "alias.widths[1]").path == "model.widths[1]"


def test_a_path_goes_on_through_a_reference_into_a_default():
    cfg = fdl.Config(dict, mlp=fdl.Config(Mlp, 1), names=ref("mlp.names"))
    explained = explain(cfg, "names[1]")
    assert (explained.path, explained.value) == ("mlp.names[1]", "'b'")
    hops = explain(fdl.Config(dict, mlp=fdl.Config(Mlp, 1), n=ref("mlp.names[1]")), "n")
    assert [(hop.path, hop.value, hop.is_default) for hop in hops.hops] == [
        ("mlp.names[1]", "'b'", True)
    ]


def test_a_path_through_a_reference_to_a_number_ends_there():
    cfg = fdl.Config(dict, n=3, m=ref("n"), k=ref("n") + 1)
    for path, said in [("m.x", "ref(n)"), ("k.x", "ref(n) + 1")]:
        with pytest.raises(UserError) as refused:
            explain(cfg, path)
        assert f"follows {said}, with nothing below it" in refused.value.lines[0]


def test_a_reference_to_an_element_is_told_with_who_wrote_the_element():
    cfg = overridden("widths[1]=7")
    cfg.hidden = ref("widths[1]")
    (hop,) = explain(cfg, "hidden").hops
    assert (hop.path, hop.value) == ("widths[1]", "7")
    assert str(hop.origin.cause) == "--fdl_set #1: widths[1]=7"


def test_a_path_goes_on_into_a_default_and_leaves_the_config_alone():
    cfg = base()
    before = fdlkit.snapshot(cfg)
    explained = explain(cfg, "mesh.ici.data")
    assert (explained.status, explained.value) == ("default", "-1")
    assert [(w.kind, w.path, w.value) for w in explained.unset_above] == [
        ("factory", "mesh", "Mesh()"),
        ("factory", "mesh.ici", "Axes()"),
    ]
    assert explain(cfg, "mlp.names[1]").value == "'b'"
    assert explain_all(cfg, "**.mesh.ici.data") == (
        dataclasses.replace(explained, asked="**.mesh.ici.data"),
    )
    assert fdlkit.snapshot(cfg) == before


def test_a_container_is_shown_with_its_references_resolved():
    cfg = fdl.Config(dict, n=3, xs=[1, (ref("n"), ref("n") * 2)])
    explained = explain(cfg, "xs")
    assert explained.value == "[1, (ref(n), ref(n) * 2)]"
    assert explained.result == "[1, (3, 6)]"


def test_positional_variadic_and_free_arguments():
    cfg = fdl.Config(function, 1, 5, 8, free=9)
    assert explain(cfg, "[0]").value == "1"
    assert explain(cfg, "[2]").value == "8"
    assert explain(cfg, "free").value == "9"
    assert explain(cfg, "other").status == "unset"
    (default,) = explain(cfg, "third").writes
    assert default.origin.line == line_of("def function(first")


def test_two_stars_explain_every_match_and_explain_alone_refuses_them():
    cfg = fdl.Config(dict, a=fdl.Config(Mlp, 1), b=[fdl.Config(Mlp, 2, rate=0.5)])
    found = explain_all(cfg, "**.rate")
    assert [(item.path, item.status) for item in found] == [
        ("a.rate", "default"),
        ("b[0].rate", "set"),
    ]
    assert [item.path for item in explain_all(cfg, "b...rate")] == ["b[0].rate"]
    with pytest.raises(UserError, match="may lead to several places"):
        explain(cfg, "**.rate")


@pytest.mark.parametrize(
    "path",
    ["hiden", "mlp.widht", "width", "widths[9]", "mlp.rate.x", "nothing_like_it"],
)
def test_a_wrong_path_gets_what_an_override_would_get(path):
    with pytest.raises(UserError) as by_override:
        overridden(f"{path}=1")
    with pytest.raises(UserError) as by_explain:
        explain(base(), path)
    first, quoted, caret, *rest = by_override.value.lines
    prefix = len("--fdl_set=")
    shorter = quoted.replace(f"--fdl_set={path}=1", path)
    assert by_explain.value.lines == (first, shorter, f"  {caret[2 + prefix :]}", *rest)


@pytest.mark.parametrize(
    "path", ["a b", "hidden=3", "mlp.", "**", ".x", "a[", "\x1b[31m"]
)
def test_what_is_no_path_is_refused(path):
    with pytest.raises(UserError) as refused:
        explain_all(base(), path)
    assert all(line.isprintable() for line in refused.value.lines)


def test_an_entry_that_is_not_there_is_refused():
    cfg = base()
    cfg.table = {"k": 1}
    with pytest.raises(UserError, match="no key 'zzz' at table"):
        explain(cfg, "table.zzz")


@auto_config
def automatic(width: int = 5):
    return Mlp(width=width, rate=0.5)  # automatic


def test_configs_made_by_auto_config_and_by_helpers_name_the_users_lines():
    cfg = automatic.as_buildable()
    assert told(explain(cfg, "rate"))[-1][2] == line_of("# automatic")
    with written_by_lines():
        cfg = automatic.as_buildable(width=7)
    assert told(explain(cfg, "width"))[-1][2] == line_of("# automatic")


def test_what_a_helper_of_fiddles_sets_is_told_with_the_users_line():
    cfg = overridden("@selecting")
    assert told(explain(cfg, "mlp.rate"))[-1] == (
        "set",
        "0.5",
        (line_of("# selects and sets"), "--fdl_fiddler #1: selecting"),
    )


def test_a_value_from_json_comes_from_that_file():
    cfg = fdlkit.loads(fdlkit.dumps(base()), allow=[__name__], source="kept.json")
    cfg = overridden("hidden=8", cfg=cfg)
    assert [row[1:] for row in told(explain(cfg, "hidden"))[1:]] == [
        ("64", "kept.json"),
        ("8", "--fdl_set #1: hidden=8"),
    ]
    assert explain(cfg, "mlp").node.made.file == "kept.json"
    assert told(explain(cfg, "widths[0]"))[0][1:] == ("widths = [1, 2, 3]", "kept.json")
    bare = fdlkit.loads(fdlkit.dumps(base()), allow=[__name__])
    assert [write.kind for write in explain(bare, "hidden").writes] == ["default"]


def test_a_thousand_levels_and_a_diamond_of_thirty_are_explained():
    chain = fdl.Config(Model, hidden=1)
    for _ in range(1000):
        chain = fdl.Config(Model, hidden=ref(".mlp.hidden"), mlp=chain)
    deep = explain(chain, ".".join([*["mlp"] * 999, "hidden"]))
    assert deep.result == "1"
    diamond = fdl.Config(Mlp, width=1)
    for _ in range(30):
        diamond = fdl.Config(dict, a=diamond, b=(diamond,))
    explained = explain(diamond, ".".join([*["a"] * 30, "width"]))
    assert len(explained.paths) == 12
    assert explained.path_count == 1_000_000


def test_many_writes_are_all_kept():
    cfg = fdl.Config(Model)
    for n in range(500):
        cfg.mlp = fdl.Config(Mlp, n)
    assert len(explain(cfg, "mlp.width").writes) == 999


@hypothesis.settings(deadline=None)
@hypothesis.given(configs())
def test_every_value_of_the_tree_can_be_explained_and_is_the_same(config):
    for row in tree(snapshot(config)):
        # A path cannot spell a key that is an enum's member or a `Path`.
        if any(key in row.path for key in ("[Norm.", "[Sides.", "[pathlib.")):
            continue
        explained = explain(config, row.path)
        assert explained.path == row.path
        assert explained.path in explained.paths
        assert all(line.isprintable() for line in render(explained).splitlines())
        if row.kind == "leaf":
            assert explained.value == row.value
        if row.kind in ("leaf", "node", "repeat") and row.path != "<root>":
            assert any(write.kind == "set" for write in explained.writes)
        if row.result and row.result != "?" and not row.result.endswith(")"):
            assert explained.result is not None


def calls_of(function: Any) -> int:
    """How many Python functions are called on the way: work without a clock."""
    count = 0

    def watch(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count


def wide(size: int) -> tuple[Any, str]:
    nodes = [fdl.Config(Mlp, width=ref("top"), rate=n) for n in range(size)]
    return fdl.Config(dict, nodes=nodes, top=3), f"nodes[{size // 2}].width"


def deep(size: int) -> tuple[Any, str]:
    chain = fdl.Config(Model, hidden=1)
    for _ in range(size):
        chain = fdl.Config(Model, hidden=ref(".mlp.hidden"), mlp=chain)
    return chain, ".".join([*["mlp"] * (size - 1), "hidden"])


@pytest.mark.parametrize("make", [wide, deep])
def test_the_work_grows_with_the_nodes_and_no_faster(make):
    explain(*make(10))  # what is looked up once in a process
    few, many = (calls_of(functools.partial(explain, *make(n))) for n in (200, 800))
    assert many < 4.5 * few
