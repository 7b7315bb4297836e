"""TAB in real shells, each on a terminal of its own."""

from __future__ import annotations

import functools
import shlex
import shutil

import pytest

from fdlkit.completion import shells
from tests.completion.terminal import Terminal

PROMPT = "here> "

RC_FILES = {
    "bash": (
        ".bashrc",
        "PS1='here> '\n"
        "bind 'set enable-bracketed-paste off'\n"
        'eval "$(fdlkit completion bash)"\n',
    ),
    "zsh": (
        ".zshrc",
        "PS1='here> '\n"
        "unsetopt PROMPT_SP\n"
        "autoload -Uz compinit && compinit -u -D\n"
        "source <(fdlkit completion zsh)\n",
    ),
    "fish": (
        "fish/config.fish",
        "set -g fish_greeting\n"
        "set -g fish_autosuggestion_enabled 0\n"
        "function fish_prompt; echo -n 'here> '; end\n"
        "fdlkit completion fish | source\n",
    ),
}


@pytest.fixture(scope="module")
def start(folder, environment, shown, tmp_path_factory):
    """Starts a shell in the folder with the experiments; a context manager."""

    def started(shell, rc_text):
        if shutil.which(shell) is None:
            pytest.skip(f"{shell} is not installed")
        own = tmp_path_factory.mktemp(shell)
        rc = own / RC_FILES[shell][0]
        rc.parent.mkdir(exist_ok=True)
        rc.write_text(rc_text)
        command = [shell, "-i"]
        if shell == "bash":
            command[1:1] = ["--noprofile", "--rcfile", str(rc)]
        env = {**environment, "ZDOTDIR": str(own), "XDG_CONFIG_HOME": str(own)}
        return Terminal(command, cwd=folder, env=env)

    return started


def is_ready(screen):
    return screen.line == PROMPT


def hit_tab(terminal, typed):
    """What stands on the line when a text was typed and TAB was hit."""
    # The shell reads the mark when it is done with TAB.
    terminal.type(f"{typed}\t@@")
    terminal.wait_for(lambda screen: screen.line.endswith("@@"))
    line = terminal.screen.line.removeprefix(PROMPT).removesuffix("@@")
    terminal.type("\x15")
    terminal.wait_for(is_ready)
    return line


@pytest.fixture(scope="module", params=["bash", "zsh", "fish"])
def terminal(request, start):
    """A shell that has read the script as docs/cli.md says."""
    shell = request.param
    with start(shell, RC_FILES[shell][1]) as terminal:
        terminal.shell = shell
        terminal.wait_for(is_ready)
        yield terminal


@pytest.fixture
def after_tab(terminal):
    return functools.partial(hit_tab, terminal)


BASE = "experiments/lm.py:base"
LM = f"fdlkit show {BASE}"


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("fdlkit sho", "fdlkit show "),
        ("fdlkit completion ba", "fdlkit completion bash "),
        ("fdlkit show exp", "fdlkit show experiments/"),
        ("fdlkit show experiments/", "fdlkit show experiments/lm.py:"),
        ("fdlkit show experiments/lm.py:basi", "fdlkit show experiments/lm.py:basic "),
        ("fdlkit show runs/f", "fdlkit show runs/first "),
        ("fdlkit show runs/e", "fdlkit show runs/empty/"),
        ("fdlkit show ~/mi", "fdlkit show ~/mine/"),
        ("fdlkit show ~/mine/o", "fdlkit show ~/mine/own.py:"),
        ("fdlkit show ~/mine/own.py:basi", "fdlkit show ~/mine/own.py:basic "),
        (f"{LM} --form", f"{LM} --format="),
        (f"{LM} --format=j", f"{LM} --format=json "),
        (f"{LM} --format j", f"{LM} --format json "),
        (f"{LM} --out=experiments/n", f"{LM} --out=experiments/notes.txt "),
        (f"{LM} --out experiments/n", f"{LM} --out experiments/notes.txt "),
        ("fdlkit train x.py:y --dry-r", "fdlkit train x.py:y --dry-run "),
        ("fdlkit train x.py:y --workdir=runs/e", None),
        (f"{LM} --fdl_set=hea", f"{LM} --fdl_set=head."),
        (f"{LM} --fdl_set=head.wi", f"{LM} --fdl_set=head.width="),
        (f"{LM} --fdl_set head.wi", f"{LM} --fdl_set head.width="),
        (f"{LM} --fdl_set=head.norm=L", f"{LM} --fdl_set=head.norm=LAYER "),
        (f"{LM} --fdl_set head.norm=L", f"{LM} --fdl_set head.norm=LAYER "),
        (f"{LM} --fdl_set=layers.0.dr", f"{LM} --fdl_set=layers.0.dropout="),
        (f"{LM} --fdl_set=tied=t", f"{LM} --fdl_set=tied=true "),
        (f"{LM} --fdl_tag=W", f"{LM} --fdl_tag=Width="),
        (f"{LM} --fdl_fiddler=na", f"{LM} --fdl_fiddler=narrow "),
    ],
)
def test_a_word_is_completed(after_tab, typed, expected):
    if expected is None:
        expected = f"{typed}mpty/"
    assert after_tab(typed) == expected


@pytest.mark.parametrize(
    "typed",
    [
        "fdlkit zz",
        "fdlkit show experiments/zz",
        "fdlkit show no/such/folder/",
        "fdlkit show experiments/lm.py:zz",
        "fdlkit show experiments/zz.py:b",
        f"{LM} --fdl_set=zz",
        f"{LM} --fdl_set=head.width=",
        f"{LM} --zz=",
        f"{LM} one-target-is-enou",
    ],
)
def test_what_nothing_goes_on_from_stays_as_it_is(after_tab, typed):
    assert after_tab(typed) == typed


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (r"my", r"my\ dir/"),
        (r"my\ dir/v", r"my\ dir/vision\ \(old\).py:"),
        (r"my\ dir/vision\ \(old\).py:basi", r"my\ dir/vision\ \(old\).py:basic"),
        ('"my dir/v', '"my dir/vision (old).py:'),
        ("'my dir/v", "'my dir/vision (old).py:"),
        ("'my dir/vision (old).py:basi", "'my dir/vision (old).py:basic'"),
        (
            "'my dir/vision (old).py:base' --fdl_set=head.wi",
            "'my dir/vision (old).py:base' --fdl_set=head.width=",
        ),
    ],
)
def test_what_a_shell_would_cut_is_quoted(after_tab, typed, expected):
    assert after_tab(f"fdlkit show {typed}").rstrip() == f"fdlkit show {expected}"


@pytest.mark.parametrize("typed", ["--fdl_set=mode=v", '--fdl_set="mode=v'])
def test_a_choice_with_a_blank_in_it_is_one_word(after_tab, typed):
    line = after_tab(f"{LM} {typed}")
    assert shlex.split(line) == [*shlex.split(LM), "--fdl_set=mode=very slow"]


def test_several_candidates_are_listed(terminal):
    terminal.type("fdlkit show experiments/lm.py:bas")
    terminal.type("\t\t" if terminal.shell == "bash" else "\t")
    lines = (
        {"basic"} if terminal.shell == "bash" else {"usual one", "smaller one: half"}
    )
    terminal.wait_for(lambda screen: all(line in screen.text for line in lines))
    terminal.type("\x03")
    terminal.settle(0.3)
    terminal.type("\x15\x0c")
    terminal.wait_for(is_ready)


def test_a_program_that_is_named_by_its_path_completes(after_tab, environment):
    program = f"{environment['PATH'].partition(':')[0]}/fdlkit"
    assert after_tab(f"{program} sho") == f"{program} show "


def test_zsh_finds_the_script_as_a_file_of_its_own(start, environment, tmp_path):
    (tmp_path / "_fdlkit").write_text(shells.script("zsh"))
    rc = f"PS1='{PROMPT}'; fpath+=({tmp_path}); autoload -Uz compinit; compinit -u -D\n"
    with start("zsh", rc) as terminal:
        terminal.wait_for(is_ready)
        assert hit_tab(terminal, "fdlkit sho") == "fdlkit show "
        assert hit_tab(terminal, "fdlkit sho") == "fdlkit show "


def test_bash_may_cut_words_elsewhere(start):
    rc = RC_FILES["bash"][1] + "COMP_WORDBREAKS=${COMP_WORDBREAKS//[:=]/}\n"
    with start("bash", rc) as terminal:
        terminal.wait_for(is_ready)
        assert hit_tab(terminal, f"{LM} --fdl_set=hea") == f"{LM} --fdl_set=head."
        typed = "fdlkit show experiments/lm.py:basi"
        assert hit_tab(terminal, typed) == f"{typed}c "


def test_nothing_of_this_ran_the_file(shown):
    # Every test above has hit TAB behind its name.
    assert shown.read_text() == "ran\n" * 2
