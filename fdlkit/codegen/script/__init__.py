"""Style `script`: the experiment as one plain program.

`experiment` writes the constructor calls, `fdlkit.codegen.carry` brings the
definitions, `writing` puts the file together, and `proof` has it run without Fiddle and
fdlkit.
"""
