"""README.md shows what its commands print."""

from __future__ import annotations

import importlib.util
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def readme():
    """The program tools/readme.py as a module."""
    spec = importlib.util.spec_from_file_location(
        "readme", ROOT / "tools" / "readme.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["readme"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["readme"]


BARE = "# Title\n\n<!-- run: fdlkit show x -->\n\nText after.\n"


def test_a_comment_alone_gets_a_block(readme):
    text, differences = readme.rewrite(BARE, lambda block: "a\n  b \n\n")
    assert text == (
        "# Title\n\n<!-- run: fdlkit show x -->\n\n"
        "```\n$ fdlkit show x\na\n  b\n```\n\n<!-- end -->\n\nText after.\n"
    )
    assert len(differences) == 1
    assert "+  b" in differences[0]


def test_a_block_that_is_right_stays_as_it_is(readme):
    once, _ = readme.rewrite(BARE, lambda block: "a\n")
    assert readme.rewrite(once, lambda block: "a\n") == (once, [])


def test_a_block_that_is_wrong_is_put_right_and_told(readme):
    once, _ = readme.rewrite(BARE, lambda block: "old 1\n")
    twice, differences = readme.rewrite(once, lambda block: "new 2\n")
    assert twice == once.replace("old 1", "new 2")
    assert "-old 1" in differences[0]
    assert "+new 2" in differences[0]


def test_quoted_text_may_differ_only_where_the_block_says_so(readme):
    once, _ = readme.rewrite(
        BARE.replace("run:", "run varies:"), lambda block: "row 0: 'a \\'b'\n"
    )
    assert readme.rewrite(once, lambda block: 'row 0: "it\'s"\n') == (once, [])
    assert readme.rewrite(once, lambda block: "line 0: 'a'\n")[1]


def test_numbers_may_differ_only_where_the_block_says_so(readme):
    bare = BARE.replace("run:", "run varies:")
    once, _ = readme.rewrite(bare, lambda block: "step 10  loss 1.5e-3 in 0:01\n")
    assert readme.rewrite(once, lambda block: "step 8 loss 2.25 in 0:12\n") == (
        once,
        [],
    )
    _, differences = readme.rewrite(once, lambda block: "step 8  error 2.25\n")
    assert differences
    exact, _ = readme.rewrite(BARE, lambda block: "step 10\n")
    assert readme.rewrite(exact, lambda block: "step 8\n")[1]


def test_a_long_output_is_cut_where_the_block_says_so(readme):
    text, _ = readme.rewrite(
        BARE.replace("run:", "run head=2:"), lambda block: "1\n2\n3\n"
    )
    assert "1\n2\n…\n```" in text


def test_an_option_that_is_not_known_is_refused(readme):
    with pytest.raises(ValueError, match="heed=2"):
        readme.rewrite(BARE.replace("run:", "run heed=2:"), lambda block: "")


def test_commands_run_in_the_folder_and_their_exit_code_counts(readme, tmp_path):
    (tmp_path / "here.txt").touch()
    run = readme.runner(tmp_path)
    text = "<!-- run: python -c 'import os; print(os.path.abspath(\"here.txt\"))' -->\n"
    shown, _ = readme.rewrite(text, run)
    assert "\nhere.txt\n" in shown
    with pytest.raises(readme.CommandFailedError, match="exit code 3, not 0"):
        readme.rewrite("<!-- run: python -c 'raise SystemExit(3)' -->\n", run)
    readme.rewrite("<!-- run exit=3: python -c 'raise SystemExit(3)' -->\n", run)


@pytest.mark.slow
def test_the_readme_shows_what_its_commands_print():
    if not (pathlib.Path(sys.executable).parent / "fdlkit").exists():
        pytest.skip("fdlkit is not installed in this environment: make setup")
    done = subprocess.run(
        [sys.executable, "tools/readme.py", "--check"],
        check=False,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
