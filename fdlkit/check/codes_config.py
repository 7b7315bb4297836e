"""Kinds of findings of the config itself: level `config`."""

from __future__ import annotations

from fdlkit.check.findings import Code

CODES = (
    Code(
        code="CF001",
        name="a required argument that is not set",
        severity="error",
        why="A config is built from the leaves up, and a constructor that lacks an "
        "argument raises only when its turn comes: after everything below it, "
        "perhaps a corpus that was read or a model that was restored, has been "
        "built. All that are missing are told at once.",
    ),
    Code(
        code="CF002",
        name="a config that cannot be built",
        severity="error",
        why="A constructor refused its arguments, or references lead nowhere or in "
        "a circle. Nothing else can be said of a run that cannot be made, so "
        "the other levels are silent about what depends on it.",
    ),
    Code(
        code="CF003",
        name="a value of another type than its parameter",
        severity="error",
        why="Python does not check annotations. A string where a number belongs is "
        "carried along until something computes with it, in another place and "
        "minutes later; a word that is none of a Literal's choices takes "
        "whatever branch is written last.",
    ),
    Code(
        code="CF004",
        name="a value that is close to its parameter's type, and not of it",
        severity="warning",
        why="A float where a count belongs, or a node that makes something else "
        "than its parameter is annotated with, may work because Python does not "
        "look. It stops working where a library does look, or is right by luck.",
    ),
    Code(
        code="CF005",
        name="one node several times in a list",
        severity="warning",
        why="`[cfg] * 3` is one node three times. It is built once, so the three "
        "are one object: modules among them have one set of parameters, and "
        "what looks like three layers is one that is applied three times. If "
        "that is meant, `allow` says so.",
    ),
    Code(
        code="CF006",
        name="two equal copies of a large part",
        severity="info",
        why="A part that was copied and never changed since may have been meant to "
        "be shared. An override of one copy does not reach the other, so that "
        "the two part company without a word.",
    ),
    Code(
        code="CF007",
        name="a node that is shared in the config and not in the parameters",
        severity="error",
        why="Sharing a node ties parameters: one table for embedding and output, "
        "one layer for encoder and decoder. A module that copies what it is "
        "given, or stacks it, unties them in silence, and the model has more "
        "parameters than its config says.",
    ),
    Code(
        code="CF008",
        name="two nodes in the config, one set of parameters",
        severity="warning",
        why="The config says that there are two modules, and the model was "
        "initialised with parameters for one: it uses one of them for both, or "
        "never uses the other. Whatever is set on the other has no effect.",
    ),
    Code(
        code="CF009",
        name="an absolute reference with a nearer meaning",
        severity="warning",
        why="An absolute reference is looked up from the root of what is built. "
        "When a config is wrapped in another one the root changes, and the same "
        "words may name another value. `ref('^name')` finds the nearest one "
        "around the reference and survives wrapping and moving.",
    ),
    Code(
        code="CF010",
        name="a reference that was compared or written into a text",
        severity="warning",
        why="A reference has no value while a config is made. Compared with `==` it "
        "is unequal to everything, so that a condition takes the same branch "
        "whatever the value is; in an f-string it becomes the words `ref(...)`. "
        "References compute with + - * / and // only.",
    ),
    Code(
        code="CF011",
        name="a built object in a config",
        severity="error",
        why="A config says how to make things. One that is made already is the same "
        "object in every build, shows no arguments, takes no overrides and has "
        "no text that could be stored.",
    ),
    Code(
        code="CF012",
        name="a config where no build looks",
        severity="error",
        why="Builds look into arguments, lists, tuples, NamedTuples and dicts. A "
        "config inside any other object is handed over as it is, unbuilt.",
    ),
    Code(
        code="CF013",
        name="a default that was changed by way of a config",
        severity="error",
        why="A default that a config shows is the callable's own object. Changing "
        "it in place changes it for every other user of that callable in this "
        "process, and nowhere else: a config that is read from JSON has the "
        "default as written.",
    ),
    Code(
        code="CF014",
        name="a name that the callable does not take",
        severity="error",
        why="Behind **kwargs Fiddle lets any name pass, and so may the callable: "
        "the argument is dropped in silence, or fails deep inside a library.",
    ),
    Code(
        code="CF015",
        name="a repeated template that shares a node with something outside",
        severity="error",
        why="The layers of a Repeat have one stacked tree of parameters, made from "
        "a template. A module that the template holds has a copy for each "
        "layer, so it cannot also be the one module that something else holds.",
    ),
    Code(
        code="CF016",
        name="an argument that nothing reads",
        severity="warning",
        why="A setting that no code looks at seems to do something. It is "
        "overridden, swept over and compared in diffs, and the results differ "
        "by noise alone.",
    ),
    Code(
        code="CF017",
        name="a constant or class attribute that nothing reads",
        severity="warning",
        why="Experiments that are written as classes of constants collect some that "
        "nothing reads any more, or that were misspelt in a subclass. Whoever "
        "changes them believes to change the experiment.",
    ),
    Code(
        code="CF018",
        name="a seed that differs between training and evaluation data",
        severity="warning",
        why="Where a seed decides which examples are held out, two seeds make two "
        "splits: the model is then evaluated on examples that it was trained "
        "on.",
    ),
    Code(
        code="CF019",
        name="a tokenizer that differs between training and evaluation data",
        severity="error",
        why="A loss per token compares only if the tokens are the same; with "
        "another tokenizer the model reads other words than it has learnt.",
    ),
    Code(
        code="CF020",
        name="a reference that leads nowhere",
        severity="error",
        why="A reference stands for the value at another path. If there is no such "
        "path, or references form a circle, nothing can be built. An absolute "
        "one starts at the root of what is built, so that wrapping a config "
        "breaks it.",
    ),
    Code(
        code="CF021",
        name="a learning rate that is logged, and that no optimizer has",
        severity="warning",
        why="The trainer logs the schedule that it is told. Where that is a copy, or "
        "where an override has put another one into the optimizer alone, the curve in "
        "the logs is not what the run trained with. A reference cannot part from what "
        "it follows.",
    ),
    Code(
        code="CF022",
        name="an evaluator without what it is to evaluate",
        severity="error",
        why="An evaluator has its own data or that of the trainer, eval_data, and "
        "evaluates the trained parameters or their averages. Where there is no data, "
        "or averages are asked for and none are kept, a run is refused.",
    ),
    Code(
        code="CF023",
        name="an evaluator or metric whose name means something else",
        severity="error",
        why="Numbers are logged as NAME/metric. Under a name that is taken, two things "
        "would be written to one place, and curves would be of both.",
    ),
    Code(
        code="CF024",
        name="a metric to go by that no evaluator logs",
        severity="error",
        why="The best checkpoint is kept, or a run ended, by a metric as it is logged: "
        "NAME/metric. If nothing is logged there, nothing is ever kept or ended.",
    ),
    Code(
        code="CF025",
        name="eval_every without eval_data",
        severity="warning",
        why="It says how often eval_data is evaluated. Where there is none, nothing "
        "is evaluated by it, however often; evaluators say themselves when.",
    ),
    Code(
        code="CF030",
        name="an allowance for a code that does not exist",
        severity="error",
        why="It allows nothing, and a finding that was meant to be allowed still "
        "counts.",
    ),
    Code(
        code="CF031",
        name="an allowance that allows nothing",
        severity="warning",
        why="What it was for has been mended or has moved. If it stays, it hides "
        "the next finding of that kind, which nobody has looked at.",
    ),
)
