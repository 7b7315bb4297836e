import fiddle as fdl


class Generator(fdl.Tag):
    """What belongs to the generator."""


class Critic(fdl.Tag):
    """What belongs to the critic."""


class DType(fdl.Tag):
    """The type of parameters and of computation."""


class StepSize(fdl.Tag):
    """An optimizer's step size."""


class Kernel(fdl.Tag):
    """The kernel between samples."""
