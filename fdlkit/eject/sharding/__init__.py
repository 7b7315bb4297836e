"""Plain forms of definitions of `fdlkit.sharding`."""
