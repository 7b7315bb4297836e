"""Carrying definitions of own modules into one file, by what is reached.

`modules` reads a module's text, `scopes` says which names in it are global, `homes`
where such a name leads, `reach` what is needed, `splice` what the text of each piece
becomes, and `carrier` puts them together.

`leaner` then takes out what the experiment does not use. `program` finds the options,
`values` computes with them, `folding` (statements) and `expressions` (with `calls`)
fold what they decide, `unread` and `pruning` drop what nothing reads or reaches then,
`sole` names the one class that a protocol stands for, and `cuts` knows where the text
of each stands.
"""
