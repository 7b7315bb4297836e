"""The frame: what is checked, how it is told and counted, and what is allowed."""

from __future__ import annotations

import dataclasses
import json

import fiddle as fdl
import optax
import pytest

import fdlkit
from fdlkit.check import codes, levels, text, writing
from fdlkit.check.report import Report, examine
from fdlkit.check.request import MESH_AXES, Request, parse_mesh
from fdlkit.check.subject import Subject
from fdlkit.cli.main import main
from fdlkit.diff.text import render
from fdlkit.errors import UserError
from fdlkit.sharding import mesh as meshes
from fdlkit.train import optimizers
from fdlkit.train.metrics import MeanLoss
from tests.check.house import Layer, examples, experiment, in_memory


def shared_layers() -> fdl.Config:
    cfg = experiment()
    cfg.model.layers = [fdl.Config(Layer, width=8)] * 2
    return cfg


def found(cfg, *names: str) -> list[fdlkit.check.findings.Finding]:
    return fdlkit.check(cfg, levels=names or ("config",))


def codes_of(findings) -> list[str]:
    return [finding.code for finding in findings]


def test_a_sound_experiment_has_no_finding():
    assert fdlkit.check(experiment()) == []


def follower(width: int, inner: int, ratio: int = 1) -> None: ...


def test_what_follows_a_wrong_value_is_not_told_beside_it():
    cfg = fdl.Config(follower, width="24", inner=fdlkit.ref(".width") * 2)
    (finding,) = found(cfg)
    assert finding.path == "width"
    assert finding.fix == "write width = 24"


def test_a_wrong_value_that_is_computed_from_a_right_one_is_told():
    cfg = fdl.Config(follower, width=3, inner=4, ratio=fdlkit.ref(".width") / 2)
    assert [finding.path for finding in found(cfg)] == ["ratio"]


@pytest.mark.parametrize(
    "drawn", [in_memory, lambda seed: fdl.Partial(examples, seed=seed)]
)
def test_examples_that_are_drawn_with_another_seed_are_no_other_split(drawn):
    cfg = experiment()
    cfg.train_data.source, cfg.eval_data.source = drawn(0), drawn(1)
    assert found(cfg) == []


def test_a_metric_that_fails_with_an_error_of_jax_is_told_as_such():
    mean = fdl.Config(MeanLoss, loss="losses.loss.values")
    (finding,) = found(experiment(metrics={"mean": mean}), "config", "shapes")
    assert finding.path == "metrics['mean']"
    assert finding.text.startswith("metrics['mean'] cannot be traced: ")


def test_a_reference_to_what_is_below_a_key_is_written_as_python_takes_it():
    rates = {"**": fdl.Config(optax.adam, learning_rate=1e-2)}
    cfg = experiment(
        optimizer=fdl.Config(optimizers.by_path, rates), learning_rate=3e-3
    )
    (finding,) = found(cfg)
    (written,) = finding.nearest
    assert written == """ref("optimizer.groups['**'].learning_rate")"""
    cfg.learning_rate = eval(written, {"ref": fdlkit.ref})
    assert found(cfg) == []


@pytest.mark.parametrize("name", ["base", "tiny", "tied"])
def test_a_shipped_experiment_has_no_finding_and_allows_none(name):
    cfg = fdlkit.load(f"experiments/lm.py:{name}")
    assert fdlkit.check(cfg) == []
    assert "allowed" not in fdl.ordered_arguments(cfg)


def test_a_shipped_fiddler_makes_nothing_to_find():
    from experiments import lm

    cfg = lm.tiny()
    lm.bfloat16(cfg)
    assert fdlkit.check(cfg) == []


@dataclasses.dataclass
class Anything:
    size: int

    def call(self):
        return self.size


def test_of_what_is_no_experiment_only_some_levels_run_and_it_is_said():
    report = examine(Subject(fdl.Config(Anything, size="3")))
    assert codes_of(report.findings) == ["CF003"]
    ran = {run.level for run in report.levels if run.skipped is None}
    assert ran == {level.name for level in levels.LEVELS if not level.of_experiments}
    (why,) = text.skipped(report)
    assert "not checked: it builds a tests.check.test_check.Anything" in why


def test_a_partial_of_a_trainer_is_no_experiment():
    cfg = fdl.cast(fdl.Partial, experiment())
    assert "partial" in str(Subject(cfg).why_no_experiment)


def test_a_leaf_and_a_list_can_be_checked():
    assert fdlkit.check(3) == []
    assert codes_of(fdlkit.check([fdl.Config(Anything)])) == ["CF001"]


def test_the_gravest_comes_first_and_what_is_allowed_last():
    cfg = shared_layers()
    cfg.log_every = 2.5
    cfg.model.width = "8"
    fdlkit.allow(cfg, "CF005", reason="meant", at="model")
    assert [(f.code, f.allowed) for f in found(cfg)] == [
        ("CF003", None),
        ("CF004", None),
        ("CF005", "meant"),
    ]


def test_a_level_that_does_not_exist_is_refused_with_a_hint():
    with pytest.raises(UserError, match=r"did you mean 'config'"):
        fdlkit.check(experiment(), levels=["confg"])


def test_every_code_begins_with_the_letters_of_a_level_and_says_why():
    letters = {level.letters for level in levels.LEVELS}
    for code in codes.CODES.values():
        assert code.code[:2] in letters
        assert code.code[2:].isdigit()
        assert len(code.why) > 50
        assert code.why.endswith(".")
    assert len(codes.CODES) == sum(map(len, codes.TABLES))


def test_the_request_knows_the_axes_of_the_house():
    assert MESH_AXES == meshes.MESH_AXES


def test_a_mesh_is_read_from_text_and_its_smallest_size_is_checked():
    assert parse_mesh("data=-1, fsdp=2") == {"data": -1, "fsdp": 2}
    report = examine(Subject(experiment(), Request(mesh={"data": -1, "fsdp": 2})))
    assert report.mesh is not None
    assert (report.mesh["data"], report.mesh["fsdp"]) == (1, 2)


# Allowances.


def test_what_is_allowed_survives_json_diff_show_and_a_fiddler(capsys):
    cfg = shared_layers()
    fdlkit.allow(cfg, "cf005", reason="one layer is meant", at=cfg.model)
    assert found(cfg)[0].allowed == "one layer is meant"
    read = fdlkit.loads(fdlkit.dumps(cfg), allow=("tests.check.house",))
    assert found(read)[0].allowed == "one layer is meant"
    changes = fdlkit.diff(shared_layers(), cfg)
    assert "one layer is meant" in render(changes)
    applied = fdlkit.apply(changes, shared_layers())
    assert found(applied)[0].allowed == "one layer is meant"
    fdlkit.display(cfg)
    assert "one layer is meant" in capsys.readouterr().out


@pytest.mark.parametrize("at", ["", "model", "model.layers", "model.layers[0]"])
def test_an_allowance_holds_for_its_place_and_all_below(at):
    cfg = shared_layers()
    fdlkit.allow(cfg, "CF005", reason="meant", at=at)
    assert [f.allowed for f in found(cfg)] == ["meant"]


@pytest.mark.parametrize("at", ["optimizer", "train_data.source"])
def test_an_allowance_elsewhere_holds_for_nothing_and_is_told(at):
    cfg = shared_layers()
    fdlkit.allow(cfg, "CF005", reason="meant", at=at)
    assert codes_of(found(cfg)) == ["CF005", "CF031"]


def test_an_allowance_of_a_level_that_did_not_run_is_left_alone():
    cfg = shared_layers()
    fdlkit.allow(cfg, "CF005", reason="meant")
    assert fdlkit.check(cfg, levels=["environment"]) == []


def test_allowing_twice_keeps_both_and_leaves_a_shared_mapping_alone():
    kept: dict[str, str] = {}
    cfg = experiment(allowed=kept)
    fdlkit.allow(cfg, "CF005", reason="one")
    fdlkit.allow(cfg, "CF016", reason="two", at="model")
    assert cfg.allowed == {"CF005": "one", "CF016 model": "two"}
    assert kept == {}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"code": "CF05", "reason": "x"}, "there is no finding 'CF05'"),
        ({"code": "CF005", "reason": " "}, "it needs a reason"),
        ({"code": "CF005", "reason": "x", "at": "a..b"}, "is not a path"),
        (
            {"code": "CF005", "reason": "x", "at": fdl.Config(Layer, width=1)},
            "is not in the config",
        ),
    ],
)
def test_what_cannot_be_allowed_is_refused(arguments, said):
    with pytest.raises(UserError, match=said):
        fdlkit.allow(experiment(), **arguments)


def test_a_config_without_a_place_for_it_says_where_to_allow():
    with pytest.raises(UserError, match="call allow on the experiment"):
        fdlkit.allow(experiment().model, "CF005", reason="meant")


# Text and JSON.


def test_json_says_all_that_the_text_does():
    report = examine(Subject(shared_layers()), ["config"])
    said = json.loads(writing.write(report, target="x.py:y"))
    assert said["schema"] == "fdlkit.check/1"
    assert said["target"] == "x.py:y"
    (finding,) = said["findings"]
    fields = {field.name for field in dataclasses.fields(fdlkit.check.findings.Finding)}
    assert set(finding) == fields
    assert finding["numbers"] == {"times": 2}
    told = text.render(report)
    for part in ("code", "severity", "text", "path", "source", "fix"):
        assert finding[part] in told


def test_lines_are_broken_between_words_where_they_are_too_long():
    report = examine(Subject(shared_layers()), ["config"])
    narrow = text.render(report, width=60)
    assert max(map(len, narrow.splitlines())) <= 60
    assert narrow.split() == text.render(report).split()


def test_numbers_that_json_lacks_are_text():
    finding = fdlkit.check.findings.Finding(
        code="CF003",
        severity="error",
        path="a",
        text="t",
        fix="f",
        numbers=(("ratio", float("inf")), ("nan", float("nan"))),
    )
    said = json.loads(
        writing.write(Report((finding,), (), None), target=""),
        parse_constant=pytest.fail,
    )
    assert said["findings"][0]["numbers"] == {"ratio": "inf", "nan": "nan"}


FILE = """
import fiddle as fdl
from tests.check.house import Layer, examples, experiment, in_memory


def sound():
    return experiment()


def shared():
    cfg = experiment()
    cfg.model.layers = [fdl.Config(Layer, width=8)] * 2
    return cfg
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "checked_by_hand.py"
    path.write_text(FILE)
    return path


def test_the_verb_exits_with_1_for_errors_alone(file, capsys):
    assert main(["check", f"{file}:sound"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("nothing found (config, ")
    assert err == ""
    assert main(["check", f"{file}:shared"]) == 0
    assert capsys.readouterr().out.startswith("warning CF005: model.layers[0], [1]")
    assert main(["check", f"{file}:shared", "--fdl_set=model.width='8'"]) == 2
    capsys.readouterr()
    assert main(["check", f"{file}:shared", "--fdl_set=~model.width"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("error CF001: model.width: int")
    assert "1 error, 1 warning (" in out


def test_the_verb_writes_json_and_explains(file, capsys):
    assert main(["check", f"{file}:shared", "--format=json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [finding["code"] for finding in said["findings"]] == ["CF005"]
    assert main(["check", "--explain=cf005"]) == 0
    assert "`[cfg] * 3` is one node three times." in capsys.readouterr().out


def test_an_override_can_allow(file, capsys):
    line = "--fdl_set=allowed={'CF005 model': 'meant'}"
    assert main(["check", f"{file}:shared", line]) == 0
    assert "reason: meant" in capsys.readouterr().out


def test_completion_offers_the_codes(capsys):
    assert main(["__complete", "fish", "fdlkit check --explain=CF00"]) == 0
    offered = capsys.readouterr().out.split()
    assert "--explain=CF001" in offered
