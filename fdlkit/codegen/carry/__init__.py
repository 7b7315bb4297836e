"""Carrying definitions of own modules into one file, by what is reached.

`modules` reads a module's text, `scopes` says which names in it are global, `homes`
where such a name leads, `reach` what is needed, `ordering` in what order, `splice` what
the text of each piece becomes, and `carrier` puts them together.
"""
