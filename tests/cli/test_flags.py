"""Flags: both spellings, order kept, nothing unknown let through."""

from __future__ import annotations

import contextlib

import pytest
from absl import flags as absl_flags
from hypothesis import given, settings
from hypothesis import strategies as st

from fdlkit.cli.flags import VerbFlags
from fdlkit.errors import UserError


def make():
    flags = VerbFlags("show", "TARGET")
    flags.choice("format", "tree", "how", choices=("tree", "json"))
    flags.string("out", None, "where to", metavar="FILE")
    flags.integer("depth", None, "how deep", metavar="N")
    flags.boolean("dry_run", "only check")
    return flags


def test_values_and_positionals_come_apart():
    parsed = make().parse(["a", "--depth=3", "--out", "F", "b", "--dry_run"])
    assert parsed.positional == ("a", "b")
    assert parsed.values["depth"] == 3
    assert parsed.values["out"] == "F"
    assert parsed.values["dry_run"] is True
    assert parsed.values["format"] == "tree"


@pytest.mark.parametrize("flag", ["--dry-run", "--dry_run", "--dry-run=true"])
def test_dashes_and_underscores_are_the_same(flag):
    assert make().parse([flag]).values["dry_run"] is True


def test_only_the_name_of_a_flag_is_respelt():
    parsed = make().parse(["--fdl-set=a-b=c-d", "--out=x-y"])
    assert parsed.changes == (("set", "a-b=c-d"),)
    assert parsed.values["out"] == "x-y"


def test_overrides_keep_their_order():
    parsed = make().parse(
        [
            "--fdl_set=a=1",
            "--fdl_fiddler=f(x=1)",
            "t",
            "--fdl_tag=T=2",
            "--fdl_set",
            "b",
        ]
    )
    assert parsed.changes == (
        ("set", "a=1"),
        ("fiddler", "f(x=1)"),
        ("tag", "T=2"),
        ("set", "b"),
    )


def test_two_lines_share_nothing():
    one, two = make(), make()
    one.parse(["--fdl_set=a=1"])
    assert two.parse([]).changes == ()


def test_a_flag_file_stands_for_its_lines(tmp_path):
    path = tmp_path / "flags"
    path.write_text("# a comment\n--fdl-set=b=2\n--depth=4\n")
    parsed = make().parse(["--fdl_set=a=1", f"--flagfile={path}", "--fdl_set=c=3"])
    assert parsed.changes == (("set", "a=1"), ("set", "b=2"), ("set", "c=3"))
    assert parsed.values["depth"] == 4


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--dry-rn"], "did you mean '--dry_run'?"),
        (["--dry_rn=1"], "did you mean '--dry_run'?"),
        (["--steps=3"], "did you mean '--fdl_set=steps=3'?"),
        (["--model.steps=a=b"], "did you mean '--fdl_set=model.steps=a=b'?"),
        (["--steps", "3"], "did you mean '--fdl_set=steps=VALUE'?"),
        (["--tracebak"], "did you mean '--traceback'?"),
        (["--undefok=steps", "--steps=3"], "has no flag '--undefok'"),
        (["-undefok", "steps"], "has no flag '--undefok'"),
        (["--format=jsn"], "did you mean 'json'?"),
        (["--depth=x"], "--depth"),
        (["--depth=-1"], "--depth"),
        (["--out"], "--out"),
        (
            ["--flagfile=/no/such/file"],
            "cannot read the flag file '/no/such/file': No such file or directory",
        ),
        (["--flagfile=/"], "cannot read the flag file '/': Is a directory"),
        (["--flagfile"], "--flagfile needs the name of a file"),
    ],
)
def test_a_wrong_flag_is_refused(argv, says):
    with pytest.raises(UserError) as refused:
        make().parse(argv)
    assert says in str(refused.value)
    assert refused.value.exit_code == 2


def test_a_flag_file_cannot_let_unknown_flags_pass(tmp_path):
    path = tmp_path / "flags"
    path.write_text("--undefok=steps\n--steps=3\n")
    with pytest.raises(UserError, match="has no flag '--undefok'"):
        make().parse([f"--flagfile={path}"])


def test_a_flag_file_that_is_no_text_is_told(tmp_path):
    path = tmp_path / "flags"
    path.write_bytes(b"\xff\xfe--depth=3")
    with pytest.raises(UserError, match="cannot be read"):
        make().parse([f"--flagfile={path}"])


def test_exactly_one_target_is_wanted():
    flags = make()
    assert flags.one(flags.parse(["a"])) == "a"
    with pytest.raises(UserError, match="needs a TARGET"):
        make().one(make().parse([]))
    with pytest.raises(UserError, match="what is 'b c'"):
        make().one(make().parse(["a", "b", "c"]))


def test_the_global_flags_are_left_alone():
    before = set(absl_flags.FLAGS)
    make().parse(["--fdl_set=a=1"])
    assert set(absl_flags.FLAGS) == before
    assert "fdl_set" not in before


def test_help_names_every_flag_within_the_width():
    text = make().help("Looks.", 60)
    names = ("fdl_set", "fdl_tag", "fdl_fiddler", "format", "out", "depth")
    for name in (*names, "flagfile", "traceback"):
        assert f"--{name}" in text
    assert max(map(len, text.splitlines())) <= 60


ARGUMENTS = st.lists(
    st.one_of(
        st.text(max_size=8),
        st.builds(
            "--{}{}{}".format,
            st.sampled_from(
                ["fdl_set", "depth", "format", "dry-run", "nodry_run", "x"]
            ),
            st.sampled_from(["=", "", "=="]),
            st.text(max_size=5),
        ),
    ),
    max_size=4,
)


@settings(max_examples=200, deadline=None)
@given(ARGUMENTS)
def test_no_command_line_makes_anything_else_than_a_user_error(argv):
    with contextlib.suppress(UserError):
        make().parse(argv)
