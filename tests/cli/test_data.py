"""`fdlkit data` shows what a model would be fed, and builds nothing but the data."""

from __future__ import annotations

import pytest

from fdlkit.cli.main import main

CONFIGS = """
import dataclasses
from typing import Any

import fiddle as fdl
import numpy as np

from fdlkit.data.pipeline import Pipeline
from fdlkit.data.source import InMemory
from fdlkit.data.tokenizer import ByteTokenizer
from fdlkit.data.windows import TokenWindows
from fdlkit.data.corpus import TextFiles
from fdlkit.graph.references import ref


class UpperTokenizer(ByteTokenizer):
    @property
    def name(self):
        return "upper"


class Model:
    def __init__(self):
        raise RuntimeError("nobody asked for a model")


@dataclasses.dataclass
class Experiment:
    train_data: Pipeline
    model: Any = None
    eval_data: Pipeline | None = None
    size: int = 2


def words(glob, tokenizer, split):
    source = fdl.Config(
        TokenWindows,
        corpus=fdl.Config(TextFiles, glob=glob, split=split, eval_fraction=0.5),
        tokenizer=tokenizer,
        length=8,
    )
    return fdl.Config(
        Pipeline, source=source, batch_size=2, shuffle=False, num_epochs=1,
        remainder="pad",
    )


def texts(glob: str, other: bool = False) -> fdl.Config[Experiment]:
    tokenizer = fdl.Config(ByteTokenizer)
    return fdl.Config(
        Experiment,
        model=fdl.Config(Model),
        train_data=words(glob, tokenizer, "train"),
        eval_data=words(
            glob, fdl.Config(UpperTokenizer) if other else tokenizer, "eval"
        ),
    )


def numbers() -> fdl.Config[Experiment]:
    return fdl.Config(
        Experiment,
        train_data=fdl.Config(
            Pipeline,
            source=fdl.Config(make_numbers),
            batch_size=ref("size"),
            shuffle=False,
        ),
    )


def make_numbers():
    return InMemory({"x": np.arange(6, dtype=np.float32).reshape(3, 2)})


def nothing() -> fdl.Config:
    return fdl.Config(dict, a=1)


def wrong() -> fdl.Config[Experiment]:
    return fdl.Config(Experiment, train_data=fdl.Config(dict))
"""


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "data_configs.py"
    path.write_text(CONFIGS)
    for number in range(8):
        (tmp_path / f"{number}.txt").write_text(f"text number {number} of eight")
    return path


@pytest.fixture
def texts(target):
    return f"{target}:texts(glob='{target.parent}/*.txt')"


def test_both_splits_are_shown_decoded(texts, capsys):
    assert main(["data", texts, "--n=1"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    train, evaluation = out.split("\n\n")
    for name, text in (("train", train), ("eval", evaluation)):
        assert text.startswith(f"{name}: ")
        assert "  tokenizer: bytes\n" in text
        assert "tokens  int32[batch=2, time=8]" in text
        assert text.count("  row ") == 1
    assert "text nu" in train


def test_one_split_can_be_asked_for(texts, capsys):
    assert main(["data", texts, "--split=eval", "--n=2"]) == 0
    out, _ = capsys.readouterr()
    assert out.startswith("eval: ")
    assert "train: " not in out
    assert out.count("  row ") == 2


def test_an_unknown_split_is_told_the_nearest(texts, capsys):
    assert main(["data", texts, "--split=evl"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "did you mean 'eval'?" in err


def test_tokenizers_that_differ_are_an_answer_of_no(texts, capsys):
    other = texts.replace(")", ", other=True)")
    assert main(["data", other, "--n=0"]) == 1
    err = capsys.readouterr().err
    assert "different tokenizers" in err
    assert "bytes" in err and "upper" in err


def test_a_reference_into_the_rest_of_the_config_is_followed(target, capsys):
    assert main(["data", f"{target}:numbers", "--n=1"]) == 0
    assert "x  float32[batch=2, 2]" in capsys.readouterr().out
    assert main(["data", f"{target}:numbers", "--n=1", "--fdl_set=size=3"]) == 0
    assert "x  float32[batch=3, 2]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nothing", "has no data"),
        ("wrong", "train_data of"),
        ("texts(glob='/no/such/*')", "/no/such"),
    ],
)
def test_a_config_without_usable_data_is_refused(target, name, says, capsys):
    assert main(["data", f"{target}:{name}"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err
