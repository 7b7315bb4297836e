"""Plain forms of definitions of `fdlkit.nn`."""
