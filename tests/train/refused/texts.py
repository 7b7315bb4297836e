"""What cannot be written by a model: no language model, no prompt, no sampler."""

from __future__ import annotations

import fiddle as fdl
import numpy as np

import fdlkit
from fdlkit.data.pipeline import Pipeline
from fdlkit.data.source import InMemory
from fdlkit.sample.opening import build_trainer, choose_step
from fdlkit.train.checkpoints import ITEMS
from fdlkit.train.continuing import prompt_tokens
from fdlkit.train.decode import GenerateText
from fdlkit.train.losses import CrossEntropy
from fdlkit.train.sampling import Sampler
from tests.nn.models import VOCAB, small_model
from tests.train.languages import Letters, language_of
from tests.train.refused.toys import made
from tests.train.test_decode import trainer_of
from tests.train.test_language import Texts, data, found
from tests.train.toys import make_trainer

ROWS = np.ones((8, 12), np.int32)


def prompt(text):
    return lambda _: prompt_tokens(language_of(small_model()), text)


def language(**changes):
    return lambda _: found(**changes)


def written(**changes):
    changes = {"prompts": ["abc"]} | changes
    return lambda _: trainer_of(evaluators={"text": GenerateText(**changes)}).check()


def chosen(step):
    """A step of a run that has others."""

    def run(folder):
        for there in range(2, 30, 2):
            for item in ITEMS:
                (folder / "checkpoints" / str(there) / item).mkdir(parents=True)
        choose_step(str(folder), step)

    return run


def of_images(_):
    make_trainer(evaluators={"text": GenerateText(prompts=["a"])}).check()


REFUSED = {
    "a negative temperature": made(Sampler, temperature=-1.0),
    "the best of no token": made(Sampler, top_k=0),
    "more than all probability": made(Sampler, top_p=1.5),
    "an empty prompt": prompt(""),
    "a prompt that is too long": prompt("abcdefabcdefa"),
    "a prompt in other letters": prompt("xyz"),
    "no prompts": made(GenerateText, prompts=[]),
    "one text for prompts": made(GenerateText, prompts="abc"),
    "no tokens": made(GenerateText, prompts=["a"], max_tokens=0),
    "other parameters": made(GenerateText, prompts=["a"], params="lives"),
    "averages that nobody keeps": written(params="ema"),
    "an evaluator's prompt": written(prompts=["abc", "xyz"]),
    "an experiment without text": of_images,
    "data without a tokenizer": language(
        data=Pipeline(source=InMemory({"tokens": ROWS}), batch_size=4)
    ),
    "no tokens in a batch": language(
        data=Pipeline(source=Texts({"ids": ROWS}), batch_size=4)
    ),
    "no input of tokens": language(inputs={"tokens": "batch.labels"}),
    "an input that no prompt has": language(
        inputs={"tokens": "batch.tokens", "image": "batch.image"}
    ),
    "logits of fewer tokens": language(
        data=data(
            Texts({"tokens": ROWS}, Letters(vocab_size=VOCAB + 4)),
        )
    ),
    "logits that are elsewhere": language(loss=CrossEntropy(logits="preds.logits")),
    "no checkpoint yet": lambda folder: choose_step(str(folder), "last"),
    "a checkpoint that is not there": chosen(40),
    "a run of something else": lambda _: build_trainer(fdl.Partial(Letters), "run"),
    "no prompt at all": lambda _: fdlkit.sample("run", []),
    "no sample": lambda _: fdlkit.sample("run", "a", num_samples=0),
}
