"""`fdlkit explain TARGET PATH`: who wrote a value, and what it will be."""

from __future__ import annotations

from fdlkit.cli.flags import Parsed, VerbFlags
from fdlkit.errors import UserError


def flags() -> VerbFlags:
    """The flags of the verb."""
    flags = VerbFlags("explain", "TARGET PATH")
    flags.choice("format", "text", "what is written", choices=("text", "json"))
    return flags


def run(parsed: Parsed) -> int:
    """Prints an explanation, or one for each place that a `**` leads to; 0."""
    target, path = _arguments(parsed)

    from fdlkit.cli.targets import load_overridden
    from fdlkit.overrides.explain import explain_all
    from fdlkit.view import explanation

    found = explain_all(load_overridden(target, parsed).cfg, path)
    if parsed.values["format"] == "json":
        print(explanation.to_json(found))
    else:
        print("\n\n".join(map(explanation.render, found)))
    return 0


def _arguments(parsed: Parsed) -> tuple[str, str]:
    usage = f"  {flags().usage()}"
    if not parsed.positional:
        raise UserError("fdlkit explain needs a TARGET and a PATH", usage)
    target, *rest = parsed.positional
    if not rest:
        raise UserError(
            "fdlkit explain needs a PATH",
            f"  fdlkit explain {target} PATH",
            f"  fdlkit show {target}    shows what there is",
        )
    if len(rest) > 1:
        surplus = " ".join(rest[1:])
        raise UserError(f"fdlkit explain takes one PATH; what is '{surplus}'?", usage)
    return target, rest[0]
