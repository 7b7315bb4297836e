"""What a generated program needs where arguments are made anew at each call."""

from __future__ import annotations

from fdlkit.codegen.program import Imported, Text

FRESH = "Fresh"
PARTIAL = "partial_with_fresh"

NAMES = frozenset({FRESH, PARTIAL})

_DATACLASS = Imported("dataclasses", "dataclass")
_BIND = Imported("functools", "partial")
_ANY = Imported("typing", "Any")
_CALLABLE = Imported("collections.abc", "Callable")

# The two definitions that the names are of.
SOURCES: tuple[Text, ...] = (
    (
        *("@", _DATACLASS, "(frozen=True)\nclass Fresh:\n"),
        '    """An argument that `make()` makes anew for each call that is not ',
        'given it."""',
        *("\n\n    make: ", _CALLABLE, "[[], ", _ANY, "]"),
    ),
    (
        *("def partial_with_fresh(function: ", _CALLABLE, "[..., ", _ANY, "], /, "),
        *("*args: ", _ANY, ", **kwargs: ", _ANY, ") -> ", _BIND, "[", _ANY, "]:\n"),
        '    """Binds arguments as `functools.partial` does; some of them may be ',
        '`Fresh`."""',
        *("\n\n    def call(*args: ", _ANY, ", **kwargs: ", _ANY, ") -> ", _ANY),
        ":\n        made = [a.make() if isinstance(a, Fresh) else a for a in args]\n",
        "        named = {\n            k: v.make() if isinstance(v, Fresh) else v ",
        "for k, v in kwargs.items()\n        }\n",
        *("        return function(*made, **named)\n\n    return ", _BIND),
        "(call, *args, **kwargs)",
    ),
)
