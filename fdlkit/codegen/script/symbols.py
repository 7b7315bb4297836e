"""Where what the experiment names comes from, and what is written for it."""

from __future__ import annotations

from collections.abc import Iterable

from fdlkit.codegen.carry.carrier import Carried
from fdlkit.codegen.carry.homes import Definition, External, Homes
from fdlkit.codegen.carry.modules import Imported as Import
from fdlkit.codegen.program import Imported
from fdlkit.errors import UserError

# What `import jax` leads to, and is written out by those who use JAX.
_REACHED = ("jax.nn", "jax.lax", "jax.random", "jax.tree", "jax.sharding")
_ALIASES = {"jax.numpy": "jnp", "numpy": "np", "flax.linen": "nn"}


class Symbols:
    """Finds where what the experiment names comes from."""

    def __init__(self, homes: Homes):
        self._homes = homes

    def home(self, one: Imported) -> tuple[Definition | External | None, str]:
        """What is carried or imported for a name, and the attributes after it."""
        first, _, rest = one.qualname.partition(".")
        if one.module == "builtins":
            return None, one.qualname
        if self._homes.is_own(one.module):
            found = self._homes.find(one.module, first)
            if isinstance(found, Definition):
                return found, rest
            if isinstance(found, External):
                return found, rest
            raise UserError(
                f"{one.module}.{one.qualname} is not defined at the top of its module",
                "a script can carry only what is",
            )
        if one.module in _ALIASES:
            whole = Import(one.module, None, _ALIASES[one.module])
            return External((whole,)), one.qualname
        if one.module in _REACHED:
            whole = Import("jax", None, "jax")
            return External((whole,)), f"{one.module[4:]}.{one.qualname}".rstrip(".")
        if not one.qualname:
            return External(
                (Import(one.module, None, one.module.partition(".")[0]),)
            ), ""
        if "." not in one.module:
            return External((Import(one.module, None, one.module),)), one.qualname
        return External((Import(one.module, first, first),)), rest

    def needed(
        self, named: Iterable[Imported]
    ) -> tuple[list[Definition], list[External]]:
        """The definitions and imports that some names lead to."""
        roots: dict[Definition, None] = {}
        externals: dict[External, None] = {}
        for one in named:
            home, _ = self.home(one)
            if isinstance(home, Definition):
                roots.setdefault(home)
            elif home is not None:
                externals.setdefault(home)
        return list(roots), list(externals)

    def text(self, one: Imported, carried: Carried) -> str:
        """What is written for a name."""
        home, rest = self.home(one)
        if home is None:
            return rest
        if isinstance(home, Definition):
            name = carried.identifiers.definitions[home]
        else:
            name = carried.identifiers.imports[home.imports[0]]
            if home.imports[0].is_whole and home.imports[0].module != name:
                name = home.imports[0].module
        return f"{name}.{rest}" if rest else name
