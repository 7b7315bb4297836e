"""`PATH=VALUE` changes what it says, on a copy, and nothing else."""

from __future__ import annotations

import fiddle as fdl
import pytest

from fdlkit.errors import UserError
from fdlkit.graph.references import ref
from fdlkit.overrides.apply import Override, apply


@pytest.fixture
def change(shop):
    def change(*texts, cfg=None):
        overrides = [Override("set", text) for text in texts]
        return apply(cfg if cfg is not None else shop.base(), overrides, shop)

    return change


def test_a_parameter_is_set(change):
    cfg, notes = change("model.hidden=256")
    assert cfg.model.hidden == 256
    assert notes == ()


def test_the_given_config_stays_as_it_was(shop, change):
    before = shop.base()
    after, _ = change("model.hidden=1", "model.mlp.width=2", cfg=before)
    assert before == shop.base()
    assert (after.model.hidden, after.model.mlp.width) == (1, 2)


def test_sharing_survives(change):
    cfg, _ = change("model.mlp.width=5")
    assert cfg.model.layers[0] is cfg.model.mlp
    assert cfg.model.layers[0].width == 5


def test_the_last_of_two_wins(change):
    cfg, _ = change("steps=1", "steps=2")
    assert cfg.steps == 2


@pytest.mark.parametrize(
    ("text", "widths"),
    [
        ("model.widths[0]=7", [7, 2, 3]),
        ("model.widths[-1]=7", [1, 2, 7]),
        ("model.widths.1=7", [1, 7, 3]),
        ("model.widths+=[4]", [1, 2, 3, 4]),
        ("~model.widths[1]", [1, 3]),
    ],
)
def test_an_unset_list_is_edited_as_a_copy_of_its_default(shop, change, text, widths):
    cfg, _ = change(text)
    assert cfg.model.widths == widths
    assert fdl.build(shop.base()).model.widths == [1, 2, 3]


def test_an_element_of_a_tuple_is_replaced(shop, change):
    cfg, _ = change("model.layers[1].dropout=0.5", "model.layers[0]=GatedMlp()")
    assert cfg.model.layers[0] == fdl.Config(shop.GatedMlp)
    assert cfg.model.layers[1].dropout == 0.5


def test_a_dict_gets_an_entry(change):
    cfg, _ = change("model.table['x y']=1", "model.table.z=2")
    assert cfg.model.table == {"x y": 1, "z": 2}


def test_a_default_that_is_an_object_becomes_the_node_that_makes_it(shop, change):
    cfg, _ = change("mesh.ici.fsdp=8")
    assert fdl.build(cfg).mesh == shop.Mesh(ici=shop.Axes(fsdp=8))


@pytest.mark.parametrize(("text", "steps"), [("steps+=5", 105), ("steps*=2", 200)])
def test_an_edit_computes_from_the_value_or_its_default(change, text, steps):
    assert change(text)[0].steps == steps


def test_unsetting_gives_the_default_back(change):
    cfg, _ = change("~opt.b2", "~name")
    assert cfg.opt.b2 == 0.999
    assert cfg.name == "run"


def test_a_swapped_callable_keeps_what_it_also_has(shop, change):
    cfg, notes = change("opt.learning_rate=.5", "opt=Sgd")
    assert fdl.get_callable(cfg.opt) is shop.Sgd
    assert cfg.opt.learning_rate == 0.5
    assert notes == ("opt is now Sgd, which has no b2",)


def test_a_call_makes_a_new_node(shop, change):
    cfg, _ = change("opt=Sgd(momentum=.9)", "model.layers[1]=GatedMlp(width=1_000)")
    assert fdl.build(cfg.opt) == shop.Sgd(momentum=0.9)
    assert fdl.build(cfg.model.layers[1]) == shop.GatedMlp(width=1000)


def test_a_function_is_named(shop, change):
    cfg, _ = change("model.mlp.activation=gelu")
    assert cfg.model.mlp.activation is shop.gelu


@pytest.mark.parametrize("text", ["**.dropout=0.5", "...dropout=0.5"])
def test_everywhere_means_every_node_that_has_it(change, text):
    cfg, notes = change(text)
    nodes = [cfg.model, cfg.model.mlp, *cfg.model.layers]
    assert [node.dropout for node in nodes] == [0.5] * 4
    touched = "model.dropout, model.mlp.dropout, model.layers[1].dropout"
    assert notes == (f"{text} set {touched}",)


def test_everywhere_can_be_narrowed_from_both_sides(change):
    cfg, _ = change("model.layers.**.width=3", "**.mlp.dropout=0.1")
    assert [layer.width for layer in cfg.model.layers] == [3, 3]
    assert cfg.model.mlp.dropout == 0.1
    assert cfg.model.dropout == 0.0


def test_setting_the_source_leaves_the_follower_following(shop, change):
    cfg = shop.base()
    cfg.model.mlp.width = ref("^hidden") * 4
    changed, notes = change("model.hidden=8", cfg=cfg)
    assert repr(changed.model.mlp.width) == "ref(^hidden) * 4"
    assert notes == ()


def test_setting_a_follower_cuts_its_link_and_says_so(shop, change):
    cfg = shop.base()
    cfg.model.mlp.width = ref("^hidden") * 4
    changed, notes = change("model.mlp.width=8", cfg=cfg)
    assert changed.model.mlp.width == 8
    assert notes == ("model.mlp.width no longer follows ref(^hidden) * 4",)


def test_an_edit_of_a_follower_computes_from_its_value_and_cuts_the_link(shop, change):
    cfg = shop.base()
    cfg.model.mlp.width = ref("^hidden") * 4
    changed, notes = change("model.hidden=8", "model.mlp.width+=1", cfg=cfg)
    assert changed.model.mlp.width == 33
    assert notes == ("model.mlp.width no longer follows ref(^hidden) * 4",)


def test_an_edit_of_a_follower_of_nothing_says_what_is_wrong(shop, change):
    cfg = shop.base()
    cfg.steps = ref("no_such_thing")
    with pytest.raises(UserError, match="no_such_thing"):
        change("steps+=1", cfg=cfg)


def test_the_way_through_a_reference_is_refused_with_its_source(shop, change):
    cfg = shop.base()
    cfg.model.layers = (ref("model.mlp"),)
    with pytest.raises(UserError) as refused:
        change("model.layers[0].width=8", cfg=cfg)
    assert refused.value.lines == (
        "model.layers[0] (fdlkit_test_shop.Model) follows ref(model.mlp)",
        "  --fdl_set=model.layers[0].width=8",
        "                        ^^^ set model.mlp instead, which it stands for",
    )


def test_every_problem_is_told_and_nothing_is_changed(shop, change):
    cfg = shop.base()
    with pytest.raises(UserError) as refused:
        change("steps=7", "model.hiden=1", "steps=abc", cfg=cfg)
    assert cfg == shop.base()
    assert refused.value.lines == (
        "no parameter 'hiden' at model (fdlkit_test_shop.Model)",
        "  --fdl_set=model.hiden=1",
        "                  ^^^^^ did you mean 'hidden'?",
        "  parameters: hidden, widths, norm, ckpt, mlp, dropout, mode, dtype, "
        "layers, table",
        "error: 'abc' is not an int: steps (fdlkit_test_shop.Trainer)",
        "  --fdl_set=steps=abc",
        "                  ^^^",
    )


MESSAGES = {
    "hidden=256": """\
no parameter 'hidden' at <root> (fdlkit_test_shop.Trainer)
  --fdl_set=hidden=256
            ^^^^^^ did you mean 'model.hidden'?""",
    "model.wdth=1": """\
no parameter 'wdth' at model (fdlkit_test_shop.Model)
  --fdl_set=model.wdth=1
                  ^^^^ did you mean 'widths'?
  parameters: hidden, widths, norm, ckpt, mlp, dropout, mode, dtype, layers, table""",
    "steps=100.5": """\
'100.5' is not an int: steps (fdlkit_test_shop.Trainer)
  --fdl_set=steps=100.5
                  ^^^^^ an int has no fraction""",
    "model.norm=RMSS": """\
'RMSS' is not a Norm: model.norm (fdlkit_test_shop.Model)
  --fdl_set=model.norm=RMSS
                       ^^^^ did you mean 'RMS'?
  choices: RMS, LAYER""",
    "model.mode=evel": """\
'evel' is not one of the choices: model.mode (fdlkit_test_shop.Model)
  --fdl_set=model.mode=evel
                       ^^^^ did you mean 'eval'?
  choices: train, eval""",
    "model.widths[5]=7": """\
model.widths is a list of 3, which has no [5]
  --fdl_set=model.widths[5]=7
                        ^^^ 0 to 2""",
    "**.dropuot=0": """\
'**' finds no 'dropuot' below <root>
  --fdl_set=**.dropuot=0
               ^^^^^^^ did you mean 'dropout'?""",
    "opt=Adm": """\
'Adm' is not an Adam or a Sgd: opt (fdlkit_test_shop.Trainer)
  --fdl_set=opt=Adm
                ^^^ did you mean 'Adam'?""",
    "model.mlp=built": """\
'built' is a built Built: model.mlp (fdlkit_test_shop.Model)
  --fdl_set=model.mlp=built
                      ^^^^^ name its function or class: Name(argument=value)""",
    "model.hidden.x=3": """\
model.hidden is 64 (int), with nothing below it
  --fdl_set=model.hidden.x=3
                         ^""",
    "opt=Sgd(momentom=1)": """\
Sgd has no parameter 'momentom': opt (fdlkit_test_shop.Trainer)
  --fdl_set=opt=Sgd(momentom=1)
                    ^^^^^^^^ did you mean 'momentum'?
  parameters: learning_rate, momentum""",
    "model.widths=[1,x]": """\
'x' is not an int: model.widths (fdlkit_test_shop.Model)
  --fdl_set=model.widths=[1,x]
                            ^""",
    "steps": """\
'steps' is not written like PATH=VALUE
  --fdl_set=steps
                 ^
  a path looks like a.b, a[0], a.0, d['k'] or **.dropout""",
}


@pytest.mark.parametrize("text", MESSAGES)
def test_a_mistake_is_told_with_its_place_and_what_was_meant(change, text):
    with pytest.raises(UserError) as refused:
        change(text)
    assert str(refused.value) == MESSAGES[text]
    assert refused.value.exit_code == 2


def test_a_long_override_is_cut_around_the_caret(change):
    with pytest.raises(UserError) as refused:
        change(f"model.widths=[{'1, ' * 200}x]")
    _, quoted, caret, *_ = refused.value.lines
    assert len(quoted) < 120
    assert quoted[caret.index("^")] == "x"


def test_what_an_override_wrote_is_marked_as_such(change):
    from fdlkit.graph.origins import Reader

    cfg, _ = change("steps=3")
    assert Reader().origin(cfg, "steps").file == "--fdl_set"
