"""`fdlkit.sample`: what a trained language model writes."""

from __future__ import annotations

from collections.abc import Sequence

from fdlkit.errors import UserError
from fdlkit.sample.opening import open_run
from fdlkit.targets.loading import load
from fdlkit.train.continuing import Continuation, continued
from fdlkit.train.sampling import Sampler
from fdlkit.train.standalone import Chosen


def sample(
    run: str,
    prompts: str | Sequence[str],
    *,
    step: Chosen = "last",
    max_tokens: int = 256,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int = 0,
    num_samples: int = 1,
    allow: Sequence[str] = (),
) -> list[Continuation]:
    """Continues prompts with the language model of a run.

        [text] = fdlkit.sample("runs/demo", "def ", temperature=0.7)
        print(text.prompt + text.text)

    Args:
      run: The run's folder.
      prompts: A text or several, each of at most a context of tokens.
      step: Of the checkpoint, or `last`, or `best`.
      max_tokens: How many tokens of each sample at most; the model may end it before.
      temperature: 0: always the most likely token; see `Sampler`.
      top_k: Draw from the k most likely tokens.
      top_p: Draw from the most likely tokens that have this probability together.
      seed: Of what is drawn: the same seed, the same texts.
      num_samples: How many of each prompt.
      allow: Modules that the run's config may name beside the known ones.

    Returns:
      All samples of the first prompt, then of the second, and so on.

    Raises:
      UserError: The run cannot be opened, has no language model, or a prompt or
        number is not one that will do.
    """
    texts = [prompts] if isinstance(prompts, str) else list(prompts)
    if not texts:
        raise UserError("there is no prompt to continue")
    for name, number in (("max_tokens", max_tokens), ("num_samples", num_samples)):
        if number < 1:
            raise UserError(f"{name}={number}: at least 1")
    sampler = Sampler(temperature=temperature, top_k=top_k, top_p=top_p)
    model = open_run(load(run, allow=allow), run, step=step)
    *_, rows = continued(
        model.generator(sampler),
        model.variables,
        texts,
        max_tokens=max_tokens,
        num_samples=num_samples,
        seed=seed,
    )
    return rows
