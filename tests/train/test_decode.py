"""A model writes while it is trained, and what it writes is kept."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import optax
import pytest

from fdlkit.data.pipeline import Pipeline
from fdlkit.errors import UserError
from fdlkit.train.checkpoints import CheckpointPolicy
from fdlkit.train.continuing import continued
from fdlkit.train.decode import GenerateText
from fdlkit.train.ema import Ema
from fdlkit.train.evaluation import EvaluationStoppedError
from fdlkit.train.metrics import MeanLoss
from fdlkit.train.sampling import Sampler
from fdlkit.train.stop import Stop
from fdlkit.train.trainer import Trainer
from fdlkit.train.writers import JsonLines, SampleText, TensorBoard, WriterThread
from tests.nn.models import small_model, some_tokens
from tests.train import toys
from tests.train.languages import generator_of, language_of
from tests.train.test_language import Texts
from tests.train.test_writers import events_in

WRITES = GenerateText(
    prompts=["abc", "d"], every=2, max_tokens=5, sampler=Sampler(temperature=0.0)
)


def trainer_of(*, evaluators: Any, **changes: Any) -> Trainer:
    """Four steps of a small model of letters."""
    rows = some_tokens(16, 13)
    source = Texts({"tokens": rows[:, :-1], "labels": rows[:, 1:]})
    return Trainer(
        **{
            "model": small_model(),
            "train_data": Pipeline(source=source, batch_size=4, seed=3),
            "optimizer": optax.adam(1e-2),
            "num_train_steps": 4,
            "metrics": {"loss": MeanLoss()},
            "checkpoints": CheckpointPolicy(every=2),
            "evaluators": evaluators,
        }
        | changes
    )


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run that writes after steps 2 and 4, and the state that it ends with."""
    workdir = tmp_path_factory.mktemp("run")
    trainer = trainer_of(evaluators={"text": WRITES}, ema=Ema(decay=0.5))
    trainer.train(workdir)
    return trainer, workdir


def test_texts_are_kept_beside_the_numbers_and_are_what_the_state_writes(run):
    trainer, workdir = run
    kept = lines_of(workdir / "samples.jsonl")
    assert [(line["step"], line["prompt"]) for line in kept] == [
        (step, prompt) for step in (2, 4) for prompt in ("abc", "d")
    ]
    assert {line["evaluator"] for line in kept} == {"text"}
    numbers = [x for x in lines_of(workdir / "metrics.jsonl") if "text/tokens" in x]
    assert [line["step"] for line in numbers] == [2, 4]
    last = kept[2:]
    assert numbers[-1]["text/tokens"] == np.mean([len(x["text"]) for x in last])
    assert numbers[-1]["text/ended"] == np.mean([x["finish"] == "end" for x in last])

    state = trainer.init_state()
    batches = trainer.train_data.batches()
    for _ in range(4):
        state, _ = trainer.step(state, next(batches))
    language = language_of(small_model())
    *_, rows = continued(
        generator_of(language, temperature=0.0),
        {"params": state.eval_params},
        ["abc", "d"],
        max_tokens=5,
    )
    assert [row.text for row in rows] == [line["text"] for line in last]


def test_texts_of_steps_that_are_run_again_are_cut_back(run, tmp_path):
    trainer, workdir = run
    first = lines_of(workdir / "samples.jsonl")
    stop = Stop()

    class Stopping:
        """Stops when step 2 is saved."""

        def say(self, text: str) -> None:
            if text.startswith("saving step 2"):
                stop.request(15)

        def update(self, step: int, values: Any) -> None:
            """Nothing."""

    trainer.train(tmp_path, stop=stop, progress=Stopping())
    path = tmp_path / "samples.jsonl"
    text = path.read_text()
    path.write_text(text + text.replace('"step": 2', '"step": 3') + '{"step"')
    trainer.train(tmp_path)
    assert lines_of(path) == first


def test_tensorboard_shows_texts_as_they_are(tmp_path):
    texts = [SampleText("def ", "f():\n  *x*", "length")]
    with WriterThread([JsonLines(), TensorBoard()], tmp_path, 0) as writer:
        writer.write_texts(3, "text", texts)
    [event] = [e for e in events_in(tmp_path / "tensorboard") if e.summary.value]
    [value] = event.summary.value
    assert event.step == 3
    assert value.tag.startswith("text/0")
    assert value.tensor.string_val == [b"    def f():\n      *x*\n"]


def test_a_stop_is_heeded_between_two_tokens(run):
    trainer, _ = run
    [evaluation] = trainer.evaluations.values()
    stop = Stop()
    stop.request(15)
    with pytest.raises(EvaluationStoppedError):
        evaluation(trainer.init_state(), step=2, stop=stop, in_flight=1)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"prompts": ["abc", "xyz"]}, r"evaluators\['text'\]: the prompt is no text"),
        ({"prompts": ["a" * 13]}, "the prompt has 13 tokens"),
        ({"params": "ema"}, "averages of the parameters, and the trainer keeps none"),
    ],
)
def test_what_does_not_fit_is_refused_before_the_run(changes, why):
    evaluator = dataclasses.replace(WRITES, **changes)
    with pytest.raises(UserError, match=why):
        trainer_of(evaluators={"text": evaluator}).check_evaluations()


def test_a_run_of_no_language_model_is_refused():
    trainer = toys.make_trainer(evaluators={"text": WRITES})
    with pytest.raises(UserError, match=r"\['text'\]: this experiment has no language"):
        trainer.check_evaluations()


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ({"prompts": "abc"}, "prompts='abc': it is a list of texts"),
        ({"prompts": []}, "prompts="),
        ({"prompts": ["a"], "max_tokens": 0}, "max_tokens=0"),
        ({"prompts": ["a"], "params": "emma"}, "did you mean 'ema'"),
    ],
)
def test_what_cannot_be_is_refused_when_it_is_made(named, why):
    with pytest.raises(ValueError, match=why):
        GenerateText(**named)
