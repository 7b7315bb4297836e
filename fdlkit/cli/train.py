"""`fdlkit train TARGET --workdir=DIR`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fdlkit.cli import flag_types, output
from fdlkit.cli.flags import Parsed, VerbFlags
from fdlkit.cli.streams import only_the_answer
from fdlkit.errors import UserError

if TYPE_CHECKING:
    from fdlkit.run.distributed import Distributed

_DEBUG_STEPS = 3
_SEVERAL = ("coordinator", "num_processes", "process_id")


def flags() -> VerbFlags:
    """The flags of the verb."""
    flags = VerbFlags("train", "TARGET --workdir=DIR")
    flags.string(
        "workdir", None, "the run's folder; started again, it goes on", metavar="DIR"
    )
    flags.boolean("fresh", "throw away the run that is in the workdir")
    flags.boolean("dry_run", "check everything, run and write nothing")
    flags.switch_or(
        "eval_only",
        "train nothing: evaluate a checkpoint of the run, the last one unless said",
        parser=flag_types.CheckpointParser(),
        metavar="STEP|last|best",
    )
    flags.switch_or(
        "debug",
        f"watch the first steps, {_DEBUG_STEPS} unless said: without jit, then with "
        "run-time checks; writes DIR/debug alone",
        parser=flag_types.StepsParser(_DEBUG_STEPS),
        metavar="STEPS",
    )
    flags.choice(
        "check",
        "fast",
        "what is looked at before a device is touched, see fdlkit check: config and "
        "environment, or all levels, or nothing",
        choices=("full", "fast", "off"),
    )
    flags.string(
        "coordinator", None, "of several processes: where 0 is", metavar="HOST:PORT"
    )
    flags.integer("num_processes", None, "how many processes", metavar="N")
    flags.integer("process_id", None, "which one this is, from 0", metavar="N")
    return flags


def run(parsed: Parsed) -> int:
    """Trains; 0 at the end of the run, 75 or 130 when it was stopped."""
    target = flags().one(parsed)
    directory = parsed.values["workdir"]
    if not directory:
        raise UserError(
            "fdlkit train needs a --workdir", f"  fdlkit train {target} --workdir=DIR"
        )
    _check_several(parsed)
    which = parsed.values["eval_only"]
    if which is not None and parsed.values["fresh"]:
        raise UserError(
            "--fresh would throw away the run that --eval_only is to evaluate",
            "give one of them",
        )

    debug = parsed.values["debug"]
    if debug is not None:
        _check_debug(parsed)

    # Signals are heeded before the seconds that importing JAX takes.
    from fdlkit.run.lifecycle import stop_on_signals

    with stop_on_signals() as stop, only_the_answer():
        from fdlkit.cli.targets import load_overridden
        from fdlkit.run import evaluating, launch

        launch.quiet_checkpoint_threads()
        loaded = load_overridden(target, parsed)
        if which is not None:
            code, answer = evaluating.evaluate(
                loaded.cfg,
                target=target,
                directory=directory,
                which=which,
                stop=stop,
                dry_run=parsed.values["dry_run"],
                check=parsed.values["check"],
                distributed=_distributed(parsed),
            )
        elif debug is not None:
            from fdlkit.run import debugging

            answer = ""
            code = debugging.debug(
                loaded.cfg,
                target=target,
                directory=directory,
                stop=stop,
                steps=debug,
                dry_run=parsed.values["dry_run"],
                check=parsed.values["check"],
            )
        else:
            answer = ""
            code = launch.train(
                loaded.cfg,
                target=target,
                argv=("train", *parsed.argv),
                directory=directory,
                stop=stop,
                fresh=parsed.values["fresh"],
                dry_run=parsed.values["dry_run"],
                check=parsed.values["check"],
                distributed=_distributed(parsed),
            )
    output.write(answer, None)
    return code


def _check_debug(parsed: Parsed) -> None:
    """Refuses what has no meaning beside `--debug`, or would hurt."""
    reasons = {
        "fresh": "--fresh would throw away a run, and --debug leaves runs alone",
        "eval_only": "--eval_only trains nothing, and --debug watches steps",
        "coordinator": "--debug is for one process, and --coordinator is of several",
    }
    for name, reason in reasons.items():
        if parsed.values[name] not in (None, False):
            raise UserError(reason, "give one of them")


def _check_several(parsed: Parsed) -> None:
    given = [name for name in _SEVERAL if parsed.values[name] is not None]
    missing = [f"--{name}" for name in _SEVERAL if name not in given]
    if given and missing:
        raise UserError(
            f"--{given[0]} is for a run of several processes, "
            f"which also needs {' and '.join(missing)}"
        )


def _distributed(parsed: Parsed) -> Distributed | None:
    from fdlkit.run.distributed import Distributed

    if parsed.values["coordinator"] is None:
        return None
    return Distributed(**{name: parsed.values[name] for name in _SEVERAL})
