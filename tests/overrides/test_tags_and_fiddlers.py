"""Tags and fiddlers change many things at once, or nothing."""

from __future__ import annotations

import pytest

from fdlkit import tracebacks
from fdlkit.errors import UserError
from fdlkit.overrides.apply import Override, apply


def test_a_tag_sets_all_that_carry_it(shop):
    cfg, notes = apply(shop.base(), [Override("tag", "Width=9")], shop)
    assert (cfg.model.hidden, cfg.model.mlp.width) == (9, 9)
    assert cfg.model.layers[1].width == 8
    assert notes == ("Width=9 set model.hidden, model.mlp.width",)


def test_a_tag_may_be_written_with_its_module(shop):
    cfg, _ = apply(shop.base(), [Override("tag", "fdlkit_test_shop.Width=9")], shop)
    assert cfg.model.hidden == 9


def test_a_tag_value_is_typed_like_any_other(shop):
    with pytest.raises(UserError, match="'x' is not an int"):
        apply(shop.base(), [Override("tag", "Width=x")], shop)


def test_an_unknown_tag_is_told_the_nearest(shop):
    with pytest.raises(UserError) as refused:
        apply(shop.base(), [Override("tag", "Wdth=9")], shop)
    assert refused.value.lines == (
        "no argument has the tag 'Wdth'",
        "  --fdl_tag=Wdth=9",
        "            ^^^^ did you mean 'Width'?",
        "  tags: Width",
    )


def test_a_fiddler_edits_the_copy(shop):
    before = shop.base()
    cfg, _ = apply(before, [Override("fiddler", "small")], shop)
    assert cfg.model.hidden == 2
    assert before == shop.base()


def test_a_fiddler_takes_typed_arguments(shop):
    overrides = [
        Override("fiddler", "small(hidden=1e2)"),
        Override("fiddler", "renamed(name='x, y')"),
    ]
    cfg, _ = apply(shop.base(), overrides, shop)
    assert (cfg.model.hidden, cfg.name) == (100, "x, y")


def test_the_three_kinds_are_applied_from_left_to_right(shop):
    def hidden(*overrides):
        return apply(shop.base(), overrides, shop)[0].model.hidden

    small, nine = Override("fiddler", "small"), Override("tag", "Width=9")
    five = Override("set", "model.hidden=5")
    assert hidden(small, nine, five) == 5
    assert hidden(five, small, nine) == 9
    assert hidden(nine, five, small) == 2


def test_a_fiddler_that_raises_changes_nothing_and_shows_its_own_line(shop):
    cfg = shop.base()
    with pytest.raises(UserError) as refused:
        apply(cfg, [Override("fiddler", "broken")], shop)
    assert cfg == shop.base()
    first, *_, place, code = refused.value.lines
    assert first.startswith("broken raised AttributeError: No parameter named")
    assert place.startswith(f"  {tracebacks.shown_path(shop.__file__)}:")
    assert place.endswith(" in broken")
    assert code == "    cfg.model.no_such_thing = 1"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("smal", "no fiddler 'smal' in fdlkit_test_shop", "did you mean 'small'?"),
        ("small(hiden=1)", "small has no parameter 'hiden'", "did you mean 'hidden'?"),
        ("small(hidden=x)", "'x' is not an int", ""),
        (
            "small(1)",
            "the arguments of small are given by name",
            "write argument=value",
        ),
        ("renamed", "renamed needs name", "write renamed(name=VALUE)"),
        ("returning", "returning returned a Config", "a fiddler edits the config"),
        ("built", "'built' is not a fiddler", "a fiddler is a function"),
        ("", "no fiddler ''", ""),
    ],
)
def test_a_wrong_fiddler_is_refused(shop, text, message, hint):
    with pytest.raises(UserError) as refused:
        apply(shop.base(), [Override("fiddler", text)], shop)
    assert refused.value.lines[0].startswith(message)
    assert hint in refused.value.lines[2]


def test_a_config_from_json_has_no_fiddlers(shop):
    with pytest.raises(UserError, match="comes from no Python file"):
        apply(shop.base(), [Override("fiddler", "small")], None)
