"""What a standalone script carries in place of parts that only the command needs.

A definition here has the name of the one that it stands for and does the same for a
run of one process, to the same bits, in far fewer words: no thread that writes, no
votes of several processes, no rates, and none of the checks that a config has passed
before its script is written. `fdlkit codegen` proves each script against the originals.
"""
