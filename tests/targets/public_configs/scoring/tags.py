import fiddle as fdl


class NumberType(fdl.Tag):
    """The type that numbers are computed in."""
