"""The command line: one module a verb, argv in, exit code out."""
