"""Plain forms of definitions of `fdlkit.data`."""
