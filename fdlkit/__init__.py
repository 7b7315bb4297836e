"""fdlkit: see, trust, compare, keep, eject and run Fiddle experiments in JAX."""
