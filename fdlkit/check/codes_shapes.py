"""The findings of the shapes level."""

from __future__ import annotations

from fdlkit.check.findings import Code

CODES = (
    Code(
        code="SH001",
        name="key path that leads nowhere",
        severity="error",
        why=(
            "Inputs, losses and metrics name what they want by a key path into the "
            "step's context. One that leads nowhere has nothing to compute with, and "
            "a run that has one is refused before it compiles anything."
        ),
    ),
    Code(
        code="SH002",
        name="part that cannot be traced",
        severity="error",
        why=(
            "The step is traced on shapes alone, as the compiler traces it. What "
            "raises here would raise at the start of a run, with a traceback through "
            "Flax and JAX; the finding names the module, by its path, and the "
            "innermost line of your own."
        ),
    ),
    Code(
        code="SH003",
        name="loss that is not one number a row or more",
        severity="warning",
        why=(
            "A loss gives a value for every element, [batch, …]; the step weighs and "
            "sums them. One that has reduced them already is still trained on, but "
            "padded rows are then not left out, and rates count one element a step."
        ),
    ),
    Code(
        code="SH004",
        name="state that is another after a step",
        severity="error",
        why=(
            "The step is compiled once for the state's shapes and types. An "
            "optimizer, or a model that carries running means, which returns another "
            "shape or type than it was given makes the second step fail."
        ),
    ),
    Code(
        code="SH005",
        name="named axes that disagree",
        severity="warning",
        why=(
            "An annotation such as Float[Array, 'batch time embed'] is a promise: "
            "within one call a name is one size. Nothing checks it in a run, so an "
            "array that breaks it broadcasts, or is taken for another."
        ),
    ),
    Code(
        code="SH006",
        name="predictions and labels of different shapes",
        severity="warning",
        why=(
            "Predictions [8, 1] less labels [8] are [8, 8]: every prediction is "
            "compared with every label. It trains, to the mean of the labels."
        ),
    ),
    Code(
        code="SH007",
        name="ids past the end of a table",
        severity="error",
        why=(
            "An id that a table has no row for gives NaN here (and the last row, in "
            "silence, elsewhere): a tokenizer with more ids than the model's "
            "vocabulary, or a text longer than its positions. The first step's loss "
            "is NaN."
        ),
    ),
    Code(
        code="SH010",
        name="evaluation without metrics",
        severity="error",
        why=(
            "There is data to evaluate on, and nothing to say of it: a run is refused, "
            "since a metric was surely meant."
        ),
    ),
    Code(
        code="SH009",
        name="inputs that the model does not take",
        severity="error",
        why=(
            "The names of inputs are those of the arguments of the model's __call__; "
            "a name too many, or an argument without an input, fails at the first "
            "trace."
        ),
    ),
    Code(
        code="SH011",
        name="pattern that fits no parameter, or parameter without a pattern",
        severity="error",
        why=(
            "Optimizers by path go by the names of parameters, which move when a layer "
            "is renamed or wrapped. A pattern that matches nothing freezes nothing, "
            "and a parameter that no pattern matches would not be trained; elsewhere "
            "both go unnoticed. It is told as soon as the optimizer's state has a "
            "shape."
        ),
    ),
    Code(
        code="SH012",
        name="float16 without a loss scale",
        severity="warning",
        why=(
            "float16 has no numbers between 0 and 6e-8, and few digits under 6e-5: "
            "small gradients vanish, and what they would have trained stands still. "
            "With a loss scale they are computed larger. bfloat16 has the range of "
            "float32, and needs none."
        ),
    ),
    Code(
        code="SH013",
        name="loss scale that nothing needs",
        severity="warning",
        why=(
            "A loss scale changes nothing where nothing is computed in float16, but a "
            "dynamic one leaves out steps that are not finite, which then look like "
            "its doing."
        ),
    ),
    Code(
        code="SH014",
        name="two metrics that are logged under one name",
        severity="error",
        why=(
            "A metric that comes to several numbers is logged as NAME/number. Where "
            "another metric has that very name, one curve would be of both, and which "
            "one is seen at a step is chance."
        ),
    ),
    Code(
        code="SH015",
        name="a goal that goes by no single number",
        severity="error",
        why=(
            "The best checkpoint is kept, or a run ended, by one number that an "
            "evaluator logs. A metric that comes to several has to say which; a "
            "histogram is none. Names of numbers follow from the shapes of the "
            "metrics' states."
        ),
    ),
)
