"""The findings of the axes level."""

from __future__ import annotations

from fdlkit.check.findings import Code

CODES = (
    Code(
        code="AX001",
        name="rule that cannot be used",
        severity="error",
        why=(
            "A rule says over which mesh axes the dims of a logical name are cut. A "
            "mesh axis that is not there, or is there twice in one rule, cuts "
            "nothing: JAX fails on it when the first array is laid out, after the "
            "devices have been taken."
        ),
    ),
    Code(
        code="AX002",
        name="mesh axis without a size",
        severity="error",
        why=(
            "An axis has a size of at least 1, and one axis alone may be -1, the rest "
            "of the devices. Anything else has no mesh; other trainers read such a -1 "
            "as it stands, far from where it was written."
        ),
    ),
    Code(
        code="AX003",
        name="parameter that the mesh does not divide",
        severity="error",
        why=(
            "A dim is cut into as many equal parts as its mesh axes have devices. "
            "Where that does not come out even, JAX refuses the array when it is "
            "made. Other systems pad it in silence: three heads on an axis of 8 are "
            "then computed as eight, five of them zeros. There is no pad here, so "
            "that a mesh never changes what is computed; the cost of padding is told "
            "to show what is at stake."
        ),
    ),
    Code(
        code="AX004",
        name="activation that the mesh does not divide",
        severity="error",
        why=(
            "A constraint on an activation whose dim does not come out even is no "
            "error to XLA: it pads the dim on every device and computes on zeros, "
            "step after step, without a word."
        ),
    ),
    Code(
        code="AX005",
        name="mesh that does not fit the devices",
        severity="error",
        why=(
            "The sizes of the mesh axes multiply to the number of devices. If they "
            "come to more, the run cannot start; if they come to less, devices that "
            "are paid for do nothing."
        ),
    ),
    Code(
        code="AX006",
        name="mesh that does not fit the slices",
        severity="error",
        why=(
            "The sizes of mesh.dcn multiply to the number of slices (of processes, "
            "where there are no slices), and those of mesh.ici to the devices in one."
        ),
    ),
    Code(
        code="AX007",
        name="parameter with a logical axis that no rule has",
        severity="error",
        why=(
            "A logical name without a rule is mostly a misspelt one, and the array "
            "would be copied whole to every device. A rule with None says that this "
            "is meant."
        ),
    ),
    Code(
        code="AX008",
        name="activation with a logical axis that no rule has",
        severity="warning",
        why=(
            "Flax leaves a dim whose logical name no rule has uncut, without a word. "
            "A misspelt name in one nn.with_logical_constraint so makes every device "
            "compute the whole dim. A rule with None says that this is meant."
        ),
    ),
    Code(
        code="AX009",
        name="logical names that do not fit the array",
        severity="error",
        why=(
            "An array has one logical name a dim (or None), and each name once. With "
            "more names than dims, or one of them twice, neither Flax nor JAX can lay "
            "it out."
        ),
    ),
    Code(
        code="AX010",
        name="rule that is dropped in silence",
        severity="warning",
        why=(
            "One mesh axis cuts one dim of an array. Where two dims' rules name the "
            "same mesh axis the first rule wins, and Flax drops the other without a "
            "word. That is often meant for activations, and seldom for a parameter: "
            "its other dim stays whole on every device."
        ),
    ),
    Code(
        code="AX011",
        name="mesh axis over which nothing is cut",
        severity="error",
        why=(
            "Devices along an axis that cuts neither the batch nor a parameter nor an "
            "activation hold the same arrays and compute the same numbers: all but "
            "one are idle in effect."
        ),
    ),
    Code(
        code="AX012",
        name="mesh axis that cuts stacked layers alone",
        severity="warning",
        why=(
            "Along such an axis memory is saved and nothing is computed faster: every "
            "device computes all of the activations."
        ),
    ),
    Code(
        code="AX013",
        name="batch that the mesh does not divide",
        severity="error",
        why=(
            "The rows of a global batch are cut over the mesh axes of the logical "
            "axis `batch`; every device, and every process that feeds some, needs as "
            "many."
        ),
    ),
    Code(
        code="AX014",
        name="evaluation that leaves rows out, or counts some twice",
        severity="warning",
        why=(
            "An evaluation with remainder='drop' does not see what is left after its "
            "last full batch, so its metrics are not those of the set, and change "
            "with the batch size. With remainder='pad' the last batch is filled up, "
            "and the rows that fill it count for nothing. A coverage of more batches "
            "than the data has comes to fewer rows (`First`) or to some of them twice "
            "(`Rolling`)."
        ),
    ),
    Code(
        code="AX015",
        name="data that does not last as long as the run",
        severity="error",
        why=(
            "Training data that ends before the last step ends the run; all of data "
            "without an end can never be evaluated."
        ),
    ),
    Code(
        code="AX016",
        name="data that cannot be opened",
        severity="error",
        why=(
            "A run opens its data before its first step, and does not begin without "
            "it. Where the data is on the machine that trains and not on this one, "
            "say so: fdlkit.allow(cfg, 'AX016', reason=…)."
        ),
    ),
    Code(
        code="AX017",
        name="pipeline that does not come out even",
        severity="error",
        why=(
            "A pipeline needs a device (or a group of them) for each of its stages, "
            "and a batch whose rows are cut into equal microbatches, each over all "
            "devices that rows are cut over. Elsewhere what does not come out even "
            "ends in the compiler: a run of Pax that was cut into microbatches was "
            "aborted by `Check failed: n < sizes_size`, without a word of why."
        ),
    ),
    Code(
        code="AX018",
        name="stages without a pipeline",
        severity="error",
        why=(
            "The mesh axis `stage` is for pipelines. Where a stack of layers is not "
            "computed in stages, devices along the axis store its layers in parts and "
            "all compute the same: N times the devices, and not one step faster. A "
            "run refuses that too."
        ),
    ),
    Code(
        code="AX019",
        name="pipeline without stages in the mesh",
        severity="warning",
        why=(
            "Where no mesh axis cuts the stages, every device computes all of them, "
            "and in each iteration those too that have no microbatch. The numbers are "
            "right; the time is lost. On one device in all it is a rehearsal, and "
            "nothing is said."
        ),
    ),
    Code(
        code="AX020",
        name="axis across slices that every layer needs",
        severity="warning",
        why=(
            "Slices are joined by the network of the data center, about a tenth as "
            "fast as the links inside one. Gradients of `data` are exchanged once a "
            "step, and the hand-over of `stage` is small; what `tensor` and `context` "
            "exchange is needed at once, in every layer, forwards and backwards."
        ),
    ),
    Code(
        code="AX021",
        name="microbatches that do not divide a batch",
        severity="error",
        why=(
            "With gradient accumulation every device cuts its own rows into as many "
            "parts, so that no row moves to another device. Parts of different sizes "
            "would need a program each."
        ),
    ),
)
