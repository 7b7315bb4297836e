"""The function that makes the trainer, as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fdlkit.codegen.carry.carrier import Carried
from fdlkit.codegen.carry.homes import Definition
from fdlkit.codegen.naming import Namer
from fdlkit.codegen.program import Definition as LocalDefinition
from fdlkit.codegen.program import Imported, Local, Own
from fdlkit.codegen.script.experiment import Experiment, Part, Variable
from fdlkit.codegen.script.symbols import Symbols

FUNCTION = "experiment"


class Body:
    """The function that makes the trainer."""

    def __init__(
        self,
        experiment: Experiment,
        local: Sequence[LocalDefinition],
        carried: Carried,
        symbols: Symbols,
        trainer: Definition,
        summary: str,
    ):
        self._experiment = experiment
        self._local = local
        self._carried = carried
        self._symbols = symbols
        self._trainer = trainer
        self._summary = summary
        namer = Namer(carried.identifiers.taken)
        self._names: dict[Variable, str] = {}
        namer.taken.add(FUNCTION)
        self._local_names = [namer.name([d.name]) for d in local]
        namer.taken.update(name for name, _ in experiment.parameters)
        for variable, wishes in experiment.wishes.items():
            if len(wishes) == 1 and wishes[0] in dict(experiment.parameters):
                self._names[variable] = wishes[0]
        for variable, _ in experiment.variables:
            if variable not in self._names:
                self._names[variable] = namer.name(experiment.wishes[variable])

    def texts(self) -> Iterator[str]:
        """Its definition, after those of functions that have no module."""
        for definition, name in zip(self._local, self._local_names, strict=True):
            yield self._text(definition.text, own=name)
        yield self._function()

    def _function(self) -> str:
        trainer = self._carried.identifiers.definitions[self._trainer]
        parameters = ", ".join(
            f"{name}: int | None = None"
            if text is None
            else f"{name}: int = {self._text(text)}"
            for name, text in self._experiment.parameters
        )
        lines = [
            f"def {FUNCTION}({'*, ' if parameters else ''}{parameters}) -> {trainer}:"
        ]
        summary = (self._summary or "The experiment.").replace("\\", "\\\\")
        lines.append(f'    """{summary}"""')
        for variable, text in self._experiment.variables:
            name = self._names[variable]
            if name in dict(
                self._experiment.parameters
            ):  # it is computed, unless given
                lines.append(f"    if {name} is None:")
                lines.append(f"        {name} = {self._text(text)}")
            else:
                lines.append(f"    {name} = {self._text(text)}")
        lines.append(f"    return {self._text(self._experiment.root)}")
        return "\n".join(lines)

    def _text(self, text: Iterable[Part], own: str = "") -> str:
        written = []
        for part in text:
            match part:
                case Variable():
                    written.append(self._names[part])
                case Imported():
                    written.append(self._symbols.text(part, self._carried))
                case Local():
                    written.append(self._local_names[part.number])
                case Own():
                    written.append(own)
                case str():
                    written.append(part)
                case _:
                    raise AssertionError(f"a script has no {part}")
        return "".join(written)
