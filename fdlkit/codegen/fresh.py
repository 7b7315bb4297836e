"""What a generated program needs where arguments are made anew at each call."""

from __future__ import annotations

from fdlkit.codegen.program import Imported

FRESH = "Fresh"
PARTIAL = "partial_with_fresh"

NAMES = frozenset({FRESH, PARTIAL})

IMPORTED = (
    Imported("collections.abc", "Callable"),
    Imported("dataclasses"),
    Imported("functools"),
    Imported("typing", "Any"),
)

SOURCE = '''\
@dataclasses.dataclass(frozen=True)
class Fresh:
    """An argument that `make()` makes anew for each call that is not given it."""

    make: Callable[[], Any]


def partial_with_fresh(
    function: Callable[..., Any], /, *args: Any, **kwargs: Any
) -> functools.partial[Any]:
    """Binds arguments as `functools.partial` does; some of them may be `Fresh`."""

    def call(*args: Any, **kwargs: Any) -> Any:
        made = [a.make() if isinstance(a, Fresh) else a for a in args]
        named = {k: v.make() if isinstance(v, Fresh) else v for k, v in kwargs.items()}
        return function(*made, **named)

    return functools.partial(call, *args, **kwargs)
'''
