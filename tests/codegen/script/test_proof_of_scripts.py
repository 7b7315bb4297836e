"""A script that computes something else is found out, and leaves no file."""

from __future__ import annotations

import functools

import pytest

from fdlkit.cli.main import main
from fdlkit.codegen.carry import modules
from fdlkit.codegen.script import driver, making, proof
from fdlkit.errors import RunFailedError, UserError
from fdlkit.graph.build import build
from fdlkit.targets.loading import load, load_target
from tests.codegen.script.conftest import OUTSIDE

TARGET = f"{OUTSIDE / 'own_loss.py'}:base"
WATCHED = f"{OUTSIDE / 'own_loss.py'}:watched"


@functools.cache
def line(target=TARGET):
    """A script that compiles at once, and what its config's trainer computes."""
    loaded = load_target(target)
    origin = making.origin_of(target, "", loaded.module, loaded.function)
    own = driver.evidence(build(loaded.cfg), 2)
    return making.script(loaded.cfg, origin), own


def proven(tmp_path, text, steps=2, target=TARGET):
    file = tmp_path / "script.py"
    file.write_text(text)
    proof.prove(file, line(target)[1], steps=steps, blocked=["fdlkit", "fiddle"])


def test_a_script_that_does_the_same_is_proven(tmp_path):
    proven(tmp_path, line()[0])


@pytest.mark.parametrize(
    ("part", "changed", "said"),
    [
        ("delta=0.5", "delta=0.25", "the lowered train_step differs:"),
        ("nn.Dense(1,", "nn.Dense(1, use_bias=False,", "the parameters differ:"),
        ("points(seed=1)", "points(seed=3)", "step 1 differs: mean loss"),
        ("seed: int = 0", "seed: int = 1", "differ"),
        (
            "import dataclasses\n",
            "import dataclasses\nimport fiddle\n",
            "a standalone script imports fiddle",
        ),
        ("delta=0.5", "dleta=0.5", "unexpected keyword argument 'dleta'"),
    ],
)
def test_a_script_that_does_something_else_is_refused(tmp_path, part, changed, said):
    text = line()[0]
    assert part in text
    with pytest.raises(RunFailedError) as refused:
        proven(tmp_path, text.replace(part, changed, 1))
    assert said in str(refused.value)
    assert len(refused.value.lines) <= 12


@pytest.mark.slow
def test_what_each_evaluator_computes_is_proven(tmp_path):
    text, own = line(WATCHED)
    assert own["programs"].keys() == {"train_step", "step of eval", "step of quick"}
    proven(tmp_path, text, target=WATCHED)
    assert text.count("within=0.125") == 1
    with pytest.raises(RunFailedError, match="the lowered step of quick differs:"):
        proven(tmp_path, text.replace("within=0.125", "within=0.25"), target=WATCHED)


def test_a_failed_proof_leaves_no_file(tmp_path, monkeypatch, capsys):
    read = modules.read

    def with_a_change(name):
        found = read(name)
        text = found.text.replace("grad_norm = optax", "grad_norm = 2 * optax")
        return modules.Module(name, found.file, text)

    monkeypatch.setattr(modules, "read", with_a_change)
    out = tmp_path / "script.py"
    assert main(["codegen", TARGET, f"--out={out}"]) == 1
    said = capsys.readouterr().err
    assert "error: the script does not compute what the config does" in said
    assert "the lowered train_step differs" in said and len(said.splitlines()) < 15
    assert not list(tmp_path.iterdir())


def test_a_proven_script_notes_its_first_losses(tmp_path, capsys):
    out = tmp_path / "script.py"
    assert main(["codegen", TARGET, f"--out={out}", "--verify=steps:2"]) == 0
    text = out.read_text()
    losses = line()[1]["losses"]
    assert f"first 2 steps on 1 cpu:\n{losses[0]:.4f}, {losses[1]:.4f}." in text
    assert f"python {out.name} --workdir" in text
    assert not capsys.readouterr().out


def test_what_is_no_experiment_is_refused(tmp_path, capsys):
    out = tmp_path / "script.py"
    target = f"{OUTSIDE / 'own_corpus.py'}:windows(upper=True)"
    assert main(["codegen", target, f"--out={out}"]) == 2
    assert "builds a TokenWindows, not an experiment" in capsys.readouterr().err
    assert not out.exists()
    with pytest.raises(UserError, match="read by people who have no config"):
        making.refuse_comments("origin")


def test_the_face_gives_the_text_of_a_script():
    import fdlkit
    import fdlkit.codegen

    text = fdlkit.codegen(load(TARGET))
    assert text.count("\n") > 500
    assert text.endswith("    sys.exit(main(experiment))\n")
