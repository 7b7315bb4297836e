"""An evaluator that has the model write: texts are logged, beside the numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, get_args

from fdlkit import suggest
from fdlkit.errors import UserError
from fdlkit.train.caching import why_uncached
from fdlkit.train.continuing import Continuation, continued, prompt_tokens
from fdlkit.train.evaluation import (
    EvalPrograms,
    Evaluated,
    Evaluation,
    EvaluationStoppedError,
)
from fdlkit.train.evaluators import AnyEvaluator, Given, Which
from fdlkit.train.generation import TokenGenerator
from fdlkit.train.language import LanguageModel, language_model
from fdlkit.train.models import as_model
from fdlkit.train.result_names import Numbers
from fdlkit.train.sampling import Sampler
from fdlkit.train.setup import Setup
from fdlkit.train.state import TrainState
from fdlkit.train.stop import Stop
from fdlkit.train.writers import SampleText

# What is logged of texts.
NUMBERS: Numbers = {"tokens": True, "ended": True}


@dataclasses.dataclass(frozen=True, kw_only=True)
class GenerateText(AnyEvaluator):
    """Has the model go on from prompts, after some of a run's steps.

        evaluators={"text": GenerateText(prompts=["def ", "class "], every=500)}

    The texts go to `samples.jsonl` in the workdir, a line each, and to writers that
    keep texts, such as TensorBoard. Two numbers are logged: `tokens`, how many a text
    has in the mean, and `ended`, what part of the texts the model ended itself.

    Attributes:
      prompts: What is gone on from.
      max_tokens: How many tokens are made of each text at most.
      num_samples: How many texts of each prompt.
      sampler: How a token is chosen.
      seed: Of what is drawn, the same at every evaluation.
      params: Which parameters: `ema`, the averages that the trainer's `ema` keeps, or
        `live`, those that are trained; None: the averages where there are some.
    """

    prompts: Sequence[str]
    max_tokens: int = 128
    num_samples: int = 1
    sampler: Sampler = Sampler()
    seed: int = 0
    params: Which | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.prompts, str) or not self.prompts:
            raise ValueError(
                f"prompts={self.prompts!r}: it is a list of texts, one at least: "
                "['def ']"
            )
        for name in ("max_tokens", "num_samples"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}: at least 1")
        if self.params is not None and self.params not in get_args(Which):
            meant = suggest.hint(str(self.params), get_args(Which))
            raise ValueError(
                f"params={self.params!r} is none of 'ema', 'live' and None"
                + (f"; {meant}" if meant else "")
            )

    def language(self, name: str, given: Given, variables: Any) -> LanguageModel:
        """The trainer's language model, which the prompts fit.

        Args:
          name: What the trainer calls this.
          given: What is the trainer's.
          variables: The shapes of the model's variables.

        Raises:
          UserError: There is none, a prompt does not fit, or there are no averages.
        """
        try:
            if self.params == "ema" and not given.has_ema:
                raise UserError(
                    "it is to write with averages of the parameters, and the trainer "
                    "keeps none",
                    "give the trainer ema=Config(Ema), or leave params out",
                )
            language = language_model(
                as_model(given.model),
                loss=given.loss,
                inputs=given.inputs,
                data=given.train_data,
                variables=variables,
            )
            for prompt in self.prompts:
                prompt_tokens(language, prompt)
        except UserError as error:
            first, *rest = error.lines
            raise UserError(f"evaluators[{name!r}]: {first}", *rest) from error
        return language

    def start(self, name: str, programs: EvalPrograms, given: Given) -> Evaluation:
        """See `AnyEvaluator`."""
        return TextEvaluation(name, self, programs.setup, given)


class TextEvaluation:
    """What `GenerateText` does when it is due."""

    def __init__(self, name: str, asked: GenerateText, setup: Setup, given: Given):
        self._name = name
        self._asked = asked
        self._setup = setup
        self._given = given
        self._generator: TokenGenerator | None = None
        self._note: str | None = None

    def check(self) -> Numbers | None:
        """See `Evaluation`."""
        self._language()
        return NUMBERS

    def __call__(
        self, state: TrainState, *, step: int, stop: Stop, in_flight: int
    ) -> Evaluated:
        """See `Evaluation`."""
        del step, in_flight
        asked = self._asked
        params = state.params if asked.params == "live" else state.eval_params
        variables = {"params": params, **state.model_state}
        rows: list[Continuation] = []
        for rows in continued(
            self._made(variables),
            variables,
            asked.prompts,
            max_tokens=asked.max_tokens,
            num_samples=asked.num_samples,
            seed=asked.seed,
        ):
            if stop.signal is not None and not all(row.finish for row in rows):
                raise EvaluationStoppedError
        return Evaluated(
            {
                "tokens": sum(len(row.tokens) for row in rows) / len(rows),
                "ended": sum(row.finish == "end" for row in rows) / len(rows),
            },
            self._note,
            [SampleText(row.prompt, row.text, str(row.finish)) for row in rows],
        )

    def _language(self) -> LanguageModel:
        state = self._setup.state
        variables = {"params": state.eval_params, **state.model_state}
        return self._asked.language(self._name, self._given, variables)

    def _made(self, variables: Any) -> TokenGenerator:
        """The generator, made when it is first needed."""
        if self._generator is None:
            mesh, rules = self._setup.mesh, self._setup.rules
            language = self._language()
            why = why_uncached(language, variables, mesh=mesh, rules=rules)
            if why is not None:
                self._note = f"without a key/value cache, so slower: {why}"
            self._generator = TokenGenerator(
                language=language,
                sampler=self._asked.sampler,
                mesh=mesh,
                rules=rules,
                cached=why is None,
            )
        return self._generator
