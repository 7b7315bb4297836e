"""Plain forms of definitions of `fdlkit.train`."""
