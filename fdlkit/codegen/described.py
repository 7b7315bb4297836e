"""What an object is made of, as plain data that another process can compare.

This file is also run by itself, by path, in an interpreter that has no fdlkit: it
imports nothing but Python's own modules. Objects are numbered as they are met, so that
two descriptions are the same only if they share what the other shares; what is
immutable and equal has one number, because Python may or may not make one object of it.
"""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import dis
import enum
import fractions
import functools
import hashlib
import importlib.abc
import importlib.util
import inspect
import json
import pathlib
import sys
import traceback
import types
from collections.abc import Iterable
from typing import Any

# An entry is what kind of thing it is, then pairs of a label and a part: a text that
# says all, or the number of another entry.
Entry = list[Any]

_ATOMS = (bool, int, float, complex, str, bytes, type(None))
_VALUES = (
    *(range, slice, datetime.date, datetime.time, datetime.timedelta),
    *(datetime.timezone, pathlib.PurePath, decimal.Decimal, fractions.Fraction),
)
# Attributes in which a library counts or caches, and which no config decides.
_COUNTERS = ("_id", "_object__state", "_pytree__state")


def describe(whole: Any) -> list[Entry]:
    """The description of an object and of all that it holds; the whole is the last."""
    return _Describer().describe(whole)


def difference(one: list[Entry], two: list[Entry]) -> tuple[str, str, str] | None:
    """The first place where two descriptions differ, and what each has there."""
    todo = [("", len(one) - 1, len(two) - 1)]
    seen: dict[int, int] = {}
    back: dict[int, int] = {}
    while todo:
        path, a, b = todo.pop()
        if a in seen or b in back:
            if seen.get(a) != b or back.get(b) != a:
                return path, "shared as it is not in the other", "shared otherwise"
            continue
        seen[a], back[b] = b, a
        (kind, *parts), (other, *others) = one[a], two[b]
        if kind != other:
            return path, kind, other
        ahead = []
        for mine, theirs in zip(parts, others, strict=False):
            if mine[0] != theirs[0]:
                return path, f"has {mine[0]}", f"has {theirs[0]}"
            way = path + mine[0]
            if isinstance(mine[1], str) or isinstance(theirs[1], str):
                if mine[1] != theirs[1]:
                    return way, _told(one, mine[1]), _told(two, theirs[1])
                continue
            ahead.append((way, mine[1], theirs[1]))
        if len(parts) != len(others):
            more = (parts if len(parts) > len(others) else others)[
                min(len(parts), len(others))
            ]
            told = f"has {more[0]}", f"has no {more[0]}"
            return (path, *(told if len(parts) > len(others) else reversed(told)))
        todo += reversed(ahead)
    return None


def _told(entries: list[Entry], part: Any) -> str:
    return part if isinstance(part, str) else str(entries[part][0])


class _Describer:
    def __init__(self) -> None:
        self.entries: list[Entry] = []
        # By id, with the object itself so that its id stays its own.
        self._done: dict[int, tuple[Any, Any]] = {}
        self._interned: dict[str, int] = {}

    def describe(self, whole: Any) -> list[Entry]:
        """All entries; parts stand before what holds them, but where they go round."""
        todo: list[tuple[Any, Entry | None, bool]] = [(whole, None, False)]
        open_entries: dict[int, int] = {}
        while todo:
            value, entry, is_value = todo.pop()
            if entry is None:
                if id(value) in self._done or self._text(value) is not None:
                    continue
                kind, parts, is_value = self._parts(value)
                entry = [kind, *parts]
                if not is_value:  # its number is known before what it holds
                    open_entries[id(value)] = len(self.entries)
                    self._done[id(value)] = value, len(self.entries)
                    self.entries.append([])
                todo.append((value, entry, is_value))
                todo += [(part, None, False) for _, part in reversed(parts)]
                continue
            made = [entry[0], *([label, self._part(p)] for label, p in entry[1:])]
            if is_value:
                key = repr(made)
                number = self._interned.get(key)
                if number is None:
                    number = self._interned[key] = len(self.entries)
                    self.entries.append(made)
                self._done[id(value)] = value, number
            else:
                self.entries[open_entries[id(value)]] = made
        self.entries.append(["whole", ["", self._part(whole)]])
        return self.entries

    def _part(self, value: Any) -> Any:
        text = self._text(value)
        if text is not None:
            return text
        done = self._done.get(id(value))
        return "a value around itself" if done is None else done[1]

    def _text(self, value: Any) -> str | None:
        """What says all of a value that needs no number."""
        if isinstance(value, _Said):
            return value.text
        kind = type(value)
        if _name(kind) == "fiddle._src.experimental.lazy_imports.ProxyObject":
            value = _imported(value.qualname)  # stands for what it names
        if kind in _ATOMS:
            if kind is int and value.bit_length() > 10_000:
                return f"int {value:#x}"
            return f"{kind.__name__} {value!r}"
        if isinstance(value, enum.Enum):
            return f"{_name(kind)}.{value.name} {value.value!r}"
        if isinstance(value, types.ModuleType):
            return f"module {value.__name__}"
        if kind in _VALUES or isinstance(value, pathlib.PurePath):
            return f"{_name(kind)} {value!r}"
        if type(value).__module__ in ("types", "typing") and not _has_state(value):
            return f"annotation {value!r}"
        if isinstance(value, types.GenericAlias | types.UnionType):
            return f"annotation {value!r}"
        named = _found_by_name(value)
        if named is not None:
            return named
        numpy: Any = sys.modules.get("numpy")
        if numpy is not None and isinstance(value, numpy.dtype):
            return f"dtype {value.str} {value!r}"
        return None

    def _parts(self, value: Any) -> tuple[str, list[tuple[str, Any]], bool]:
        """Kind and parts of an object, and whether equal ones are as good as one."""
        kind = type(value)
        name = _name(kind)
        # An instance of a user's subclass of a container may have attributes besides.
        more = self._attributes(value) if getattr(value, "__dict__", None) else []
        if isinstance(value, list | collections.deque):
            if isinstance(value, collections.deque):
                more = [(".maxlen", value.maxlen), *more]
            return name, [*more, *_numbered(value)], False
        for atom in _ATOMS:
            if isinstance(value, atom):  # of a user's subclass of it
                write: Any = atom.__repr__
                return name, [(" value", _Said(write(value))), *more], not more
        if isinstance(value, tuple):
            fields = getattr(kind, "_fields", None)
            if fields is not None:
                labels = [f".{field}" for field in fields]
                return name, list(zip(labels, value, strict=False)), True
            return name, _numbered(value), True
        if isinstance(value, set | frozenset):
            return name, [*more, *_numbered(_sorted(value))], kind is frozenset
        if isinstance(value, dict):
            pairs: list[tuple[str, Any]] = [*more]
            for number, (key, held) in enumerate(value.items()):
                pairs += [(f" key {number}", key), (f"[{_short(key)}]", held)]
            if isinstance(value, collections.defaultdict):
                pairs.append((".default_factory", value.default_factory))
            return name, pairs, False
        if isinstance(value, functools.partial):
            return self._partial(value)
        if kind.__name__ in ("ArgFactory", "Fresh") and (
            make := getattr(value, "factory", None) or getattr(value, "make", None)
        ):
            return "made anew", [("()", make())], False
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, types.MethodType):
            return "method", [(".of", value.__self__), (".by", value.__func__)], False
        if (array := _array(value)) is not None:
            numpy: Any = sys.modules["numpy"]
            return name, array, not isinstance(value, numpy.ndarray)  # it can change
        return name, self._attributes(value), False

    def _partial(self, value: Any) -> tuple[str, list[tuple[str, Any]], bool]:
        function = value.func
        # What calls the factories among its arguments: fdlkit's, or a program's own.
        if type(function).__name__ == "_Invoke":
            function = function.func
            kind = "partial with fresh arguments"
        elif (
            getattr(function, "__qualname__", "") == "partial_with_fresh.<locals>.call"
        ):
            function = inspect.getclosurevars(function).nonlocals["function"]
            kind = "partial with fresh arguments"
        else:
            kind = _name(type(value))
        parts = [(" of", function), *_numbered(value.args)]
        parts += [(f".{key}", held) for key, held in sorted(value.keywords.items())]
        return kind, parts, False

    def _function(self, value: Any) -> tuple[str, list[tuple[str, Any]], bool]:
        """A function that no name leads to, by its code and by what it closes over."""
        parts: list[tuple[str, Any]] = list(code(value.__code__, value.__globals__))
        for name, cell in zip(
            value.__code__.co_freevars, value.__closure__ or (), strict=True
        ):
            try:
                parts.append((f" closed over {name}", cell.cell_contents))
            except ValueError:  # not filled yet
                parts.append((f" closed over {name}", _Said("nothing")))
        parts.append((" defaults", value.__defaults__))
        parts.append((" named defaults", value.__kwdefaults__))
        for key, held in sorted(vars(value).items()):
            if key != "__wrapped__" or held is not value:
                parts.append((f".{key}", held))
        return "function", parts, False

    def _attributes(self, value: Any) -> list[tuple[str, Any]]:
        kind = type(value)
        if dataclasses.is_dataclass(value):
            names = [field.name for field in dataclasses.fields(value)]
        else:
            names = [*_slots(kind), *getattr(value, "__dict__", {})]
        found = []
        for name in names:
            if name in _COUNTERS or name.startswith("__"):
                continue
            try:
                held = inspect.getattr_static(value, name, None)
                if not isinstance(held, property):
                    held = getattr(value, name)
            except Exception:  # noqa: BLE001 - not set, or not to be asked for
                held = _Said("nothing")
            found.append((f".{name}", held))
        if not found and not _is_bare(value):
            found.append((" said", _Said(_repr(value))))
        return found


@dataclasses.dataclass(frozen=True)
class _Said:
    """Something that is all text."""

    text: str


def _imported(name: str) -> Any:
    """What a name that is imported lazily leads to: `pkg.mod:Outer.Inner`."""
    module, colon, qualname = name.partition(":")
    if not colon:
        module, _, qualname = module.rpartition(".")
    found: Any = importlib.import_module(module)
    for part in qualname.split("."):
        found = getattr(found, part)
    return found


def _numbered(values: Iterable[Any]) -> list[tuple[str, Any]]:
    return [(f"[{number}]", value) for number, value in enumerate(values)]


def _sorted(values: Iterable[Any]) -> list[Any]:
    return sorted(values, key=lambda one: (type(one).__name__, _repr(one)))


def _short(key: Any) -> str:
    text = _repr(key)
    return text if len(text) <= 40 else f"{text[:39]}…"


def _repr(value: Any) -> str:
    """The `repr`, unless it is of where the object is in memory."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a broken __repr__ says nothing
        return "?"
    return "?" if " at 0x" in text else text


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _has_state(value: Any) -> bool:
    return bool(getattr(value, "__dict__", None)) or isinstance(
        value,
        types.FunctionType
        | types.MethodType
        | types.SimpleNamespace
        | types.MappingProxyType,
    )


def _slots(kind: type) -> list[str]:
    found = []
    for owner in kind.__mro__:
        slots = vars(owner).get("__slots__", ())
        found += [slots] if isinstance(slots, str) else [*slots]
    return found


def _is_bare(value: Any) -> bool:
    """Whether it is an object of a class that gives it nothing to hold."""
    return type(value) is object or hasattr(value, "__dict__")


def _found_by_name(value: Any) -> str | None:
    """A class or function that its own name leads to."""
    module = getattr(value, "__module__", None)
    qualname = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if not isinstance(module, str) or not isinstance(qualname, str):
        if not inspect.isroutine(value) or not isinstance(qualname, str):
            return None
        module = module or "builtins"
    found: Any = sys.modules.get(module)
    for part in qualname.split("."):
        found = getattr(found, part, None)
    if found is value:
        return f"{module}.{qualname}"
    owner = getattr(value, "__self__", None)
    if inspect.isclass(owner) and found == value:
        return f"{module}.{qualname}"
    if isinstance(value, type):
        return f"class {module}.{qualname}"
    return None


def _array(value: Any) -> list[tuple[str, Any]] | None:
    numpy: Any = sys.modules.get("numpy")
    if numpy is None:
        return None
    jax: Any = sys.modules.get("jax")
    plain = value
    if jax is not None and isinstance(value, jax.Array):
        if jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
            plain = jax.random.key_data(value)
        plain = numpy.asarray(plain)
    if not isinstance(plain, numpy.ndarray | numpy.generic):
        return None
    if plain.dtype.hasobject:
        return [(".shape", tuple(plain.shape)), *_numbered(plain.ravel().tolist())]
    digest = hashlib.sha256(numpy.ascontiguousarray(plain).tobytes()).hexdigest()
    return [
        (".dtype", _Said(f"{value.dtype}")),
        (".shape", tuple(plain.shape)),
        (".weak_type", bool(getattr(value, "weak_type", False))),
        (" bytes", _Said(f"{digest[:16]} {_repr(plain.ravel()[:4].tolist())}")),
    ]


# What the compiler puts between instructions, and which says nothing.
_NO_STEPS = frozenset(
    {"CACHE", "COPY_FREE_VARS", "EXTENDED_ARG", "MAKE_CELL", "NOP", "PRECALL"}
    | {"PUSH_NULL", "RESUME"}
)


def code(whole: types.CodeType, scope: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    """What a function's code does, wherever it stands and however its file imports.

    Args:
      whole: The code.
      scope: The function's global names.
    """
    builtins = scope.get("__builtins__", {})
    if isinstance(builtins, types.ModuleType):
        builtins = vars(builtins)
    todo = [(whole, "")]
    while todo:
        one, way = todo.pop()
        counts = (one.co_argcount, one.co_posonlyargcount, one.co_kwonlyargcount)
        yield f" arguments{way}", _Said(f"{counts} {one.co_varnames}")
        steps: list[str] = []
        module: Any = None
        for step in dis.get_instructions(one):
            if step.opname in _NO_STEPS:
                continue
            if module is not None and step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                steps.pop()
                held = getattr(module, str(step.argval), None)
            elif step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                name = str(step.argval)
                held = scope.get(name, builtins.get(name))
            else:
                module = None
                steps.append(f"{step.opname} {_argument(step)}")
                continue
            module = held if isinstance(held, types.ModuleType) else None
            steps.append(f"global {_global(held)}")
        yield f" code{way}", _Said("; ".join(steps))
        for number, constant in enumerate(one.co_consts):
            if isinstance(constant, types.CodeType):
                todo.append((constant, f"{way} {number}"))


def _argument(step: dis.Instruction) -> str:
    if isinstance(step.argval, types.CodeType):
        return "code"
    if "JUMP" in step.opname or step.opname == "FOR_ITER":
        return ""  # where to: how long a way depends on what was left out
    return repr(step.argval)


def _global(held: Any) -> str:
    named = _found_by_name(held)
    if named is not None:
        return named
    return held.__name__ if isinstance(held, types.ModuleType) else _repr(held)


class _Refused(importlib.abc.MetaPathFinder):
    """Refuses to import some packages, and remembers who asked."""

    def __init__(self, packages: list[str]) -> None:
        self.packages = packages
        self.asked_by = ""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Raises for a package that is refused; knows no other."""
        if name.partition(".")[0] in self.packages:
            frame: types.FrameType | None = sys._getframe(1)
            while frame is not None and "importlib" in frame.f_code.co_filename:
                frame = frame.f_back
            self.asked_by = "" if frame is None else frame.f_code.co_filename
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def run(asked: dict[str, Any]) -> dict[str, Any]:
    """Runs a generated file; what its function returns, described, or what it raised.

    Args:
      asked: `file`, `function`, `path` (Python's), `refused`: packages that must not
        be imported, and whether a `config` is returned.
    """
    sys.path[:] = asked["path"]
    refused = _Refused(asked["refused"])
    sys.meta_path.insert(0, refused)
    try:
        spec = importlib.util.spec_from_file_location("generated", asked["file"])
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["generated"] = module
        spec.loader.exec_module(module)
        function = getattr(module, asked["function"])
        if not asked["config"]:
            return {"made": describe(function())}
        origins = importlib.import_module("fdlkit.graph.origins")
        plain = importlib.import_module("fdlkit.codegen.proof").plain_config
        with origins.written_by_lines():
            made = function()
        return {"made": describe(plain(made))}
    except Exception as error:  # noqa: BLE001 - told to whoever asked
        frames = traceback.extract_tb(error.__traceback__)
        lines = [f.lineno for f in frames if f.filename == asked["file"]]
        return {
            "error": f"{type(error).__name__}: {error}",
            "line": lines[-1] if lines else None,
            "refused_by": refused.asked_by,
        }


def main() -> None:
    """Answers, on standard output, what standard input asks of `run`; both are JSON."""
    asked = json.load(sys.stdin)
    answer, sys.stdout = sys.stdout, sys.stderr  # the program may print
    json.dump(run(asked), answer)
    answer.flush()


if __name__ == "__main__":
    main()
