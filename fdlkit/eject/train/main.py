"""The command line."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable

from fdlkit.errors import UserError
from fdlkit.train.progress import LineProgress
from fdlkit.train.stop import Stop
from fdlkit.train.trainer import Trainer


def main(make_trainer: Callable[..., Trainer]) -> int:
    """Trains, or goes on with the run in the workdir.

    Returns:
      The exit code: 0 at the end; 75 after SIGTERM and 130 after Ctrl-C, which leave a
      checkpoint: started again, the run goes on from there.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--workdir", required=True, help="the run's folder")
    parser.add_argument("--steps", type=int, help="how many updates to make")
    parser.add_argument("--seed", type=int, help="of initial values and dropout")
    flags = parser.parse_args()
    given = {"num_train_steps": flags.steps, "seed": flags.seed}
    stop = Stop()

    def heed(number: int, _: object) -> None:
        stop.request(number)
        signal.signal(number, signal.SIG_DFL)  # a second one ends it at once

    signal.signal(signal.SIGTERM, heed)
    signal.signal(signal.SIGINT, heed)
    try:
        trainer = make_trainer(**{k: v for k, v in given.items() if v is not None})
        progress = LineProgress(
            stream=sys.stderr, num_train_steps=trainer.num_train_steps
        )
        result = trainer.train(flags.workdir, stop=stop, progress=progress)
    except UserError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    if result.finished:
        return 0
    progress.say(f"stopped at step {result.step}; the same command goes on from there")
    return 130 if stop.signal == signal.SIGINT else 75
