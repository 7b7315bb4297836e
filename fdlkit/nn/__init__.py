"""Neural-network layers and models in Flax Linen, small enough to recombine.

Every module is a dataclass: a person constructs it by hand, a config holds it.
"""
