"""Which names in a piece of code are the module's, and which are local to a function.

A name that an own module's import inside a function binds counts as global: the import
goes when the code is carried, and the definition then stands at top level.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterator, Sequence

from fdlkit.codegen.carry.modules import FUNCTIONS, Imported, stored_names

# What the names of a scope are bound by: an own late import, or anything else.
Bound = dict[str, Imported | None]
# The imports of a statement inside a function that bind what will be carried.
LateImports = Callable[[ast.AST], Sequence[Imported]]

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (*FUNCTIONS, ast.Lambda)


@dataclasses.dataclass(frozen=True, eq=False)
class Use:
    """One place where a global name is read.

    Attributes:
      node: The name.
      chain: The attributes that are asked of it, from the inside: `jnp.float32.dtype`
        has two.
      late: The import inside a function that binds it, if one does.
      hidden: The names that functions, and a class body, around the place bind.
      eager: Whether it is read when the statement runs, not when a function is called.
      annotation: Whether it stands in an annotation.
      shared: The f-string around the place, if there is one.
    """

    node: ast.Name
    chain: tuple[ast.Attribute, ...]
    late: Imported | None
    hidden: frozenset[str]
    eager: bool
    annotation: bool
    shared: ast.JoinedStr | None = None


def uses(node: ast.AST, late_imports: LateImports = lambda _: ()) -> Iterator[Use]:
    """Every use of a global name below a top-level statement or a part of one."""
    yield from _Walk(late_imports).visit(node, _Around())


@dataclasses.dataclass(frozen=True)
class _Around:
    scopes: tuple[Bound, ...] = ()
    in_class: Bound | None = None
    eager: bool = True
    annotation: bool = False
    text: ast.JoinedStr | None = None

    def replace(self, **changes: object) -> _Around:
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]


class _Walk:
    def __init__(self, late_imports: LateImports):
        self._late_imports = late_imports

    def visit(self, node: ast.AST | None, around: _Around) -> Iterator[Use]:
        match node:
            case None:
                return
            case ast.Name() | ast.Attribute():
                yield from self._reference(node, around)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from self._function(node, around)
            case ast.Lambda():
                yield from self._arguments(node.args, around)
                inner = self._inside(node, [node.body], around)
                yield from self.visit(node.body, inner)
            case ast.ClassDef():
                yield from self._class(node, around)
            case ast.AnnAssign():
                yield from self.visit(node.target, around)
                yield from self.visit(node.annotation, around.replace(annotation=True))
                yield from self.visit(node.value, around)
            case ast.JoinedStr():
                for child in ast.iter_child_nodes(node):
                    yield from self.visit(child, around.replace(text=node))
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                yield from self._comprehension(node, around)
            case _:
                for child in ast.iter_child_nodes(node):
                    yield from self.visit(child, around)

    def _reference(
        self, node: ast.Name | ast.Attribute, around: _Around
    ) -> Iterator[Use]:
        chain: list[ast.Attribute] = []
        at: ast.expr = node
        while isinstance(at, ast.Attribute):
            chain.append(at)
            at = at.value
        if not isinstance(at, ast.Name):
            yield from self.visit(at, around)
            return
        if not isinstance(at.ctx, ast.Load) and not around.scopes:
            return  # a statement's own target
        late = None
        scopes = around.scopes
        if around.in_class is not None:
            scopes = (*scopes, around.in_class)
        for scope in reversed(scopes):
            if at.id in scope:
                late = scope[at.id]
                if late is None:
                    return
                break
        hidden = {name for scope in scopes for name, by in scope.items() if by is None}
        yield Use(
            at,
            tuple(reversed(chain)),
            late,
            frozenset(hidden),
            around.eager,
            around.annotation,
            around.text,
        )

    def _function(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, around: _Around
    ) -> Iterator[Use]:
        for decorator in node.decorator_list:
            yield from self.visit(decorator, around)
        yield from self._arguments(node.args, around)
        yield from self.visit(node.returns, around.replace(annotation=True))
        inner = self._inside(node, node.body, around)
        for child in node.body:
            yield from self.visit(child, inner)

    def _arguments(self, args: ast.arguments, around: _Around) -> Iterator[Use]:
        for default in (*args.defaults, *args.kw_defaults):
            yield from self.visit(default, around)
        for arg in all_arguments(args):
            yield from self.visit(arg.annotation, around.replace(annotation=True))

    def _inside(
        self, node: ast.AST, body: Sequence[ast.AST], around: _Around
    ) -> _Around:
        bound = self._bound(body)
        for arg in all_arguments(node.args):  # type: ignore[attr-defined]
            bound[arg.arg] = None
        return around.replace(
            scopes=(*around.scopes, bound), in_class=None, eager=False, annotation=False
        )

    def _class(self, node: ast.ClassDef, around: _Around) -> Iterator[Use]:
        for part in (*node.decorator_list, *node.bases, *node.keywords):
            yield from self.visit(part, around)
        inner = around.replace(in_class=self._bound(node.body))
        for child in node.body:
            # `x = x` in a class reads the module's `x`.
            if isinstance(child, ast.Assign | ast.AnnAssign):
                rest = dict(inner.in_class or {})
                targets = getattr(child, "targets", [getattr(child, "target", None)])
                for target in targets:
                    for name in stored_names(target) if target is not None else ():
                        rest.pop(name, None)
                yield from self.visit(child.value, inner.replace(in_class=rest))
                if isinstance(child, ast.AnnAssign):
                    yield from self.visit(
                        child.annotation, inner.replace(in_class=rest, annotation=True)
                    )
                else:
                    for target in child.targets:
                        yield from self.visit(target, inner)
            else:
                yield from self.visit(child, inner)

    def _comprehension(self, node: ast.expr, around: _Around) -> Iterator[Use]:
        bound: Bound = {}
        for generator in node.generators:  # type: ignore[attr-defined]
            bound |= dict.fromkeys(stored_names(generator.target))
        inner = around.replace(scopes=(*around.scopes, bound), in_class=None)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.comprehension):
                for part in (child.iter, *child.ifs, child.target):
                    yield from self.visit(part, inner)
            else:
                yield from self.visit(child, inner)

    def _bound(self, body: Sequence[ast.AST]) -> Bound:
        """The names that a function's or class's own statements bind."""
        bound: Bound = {}
        outer: set[str] = set()
        todo = list(body)
        while todo:
            node = todo.pop()
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    bound[node.name] = None
                    todo.extend(node.decorator_list)
                    continue
                case ast.Lambda():
                    continue
                case ast.Import() | ast.ImportFrom():
                    for alias in node.names:
                        bound[alias.asname or alias.name.partition(".")[0]] = None
                    for late in self._late_imports(node):
                        bound[late.bound] = late
                    continue
                case ast.Global(names=names) | ast.Nonlocal(names=names):
                    outer.update(names)
                case ast.Name(ctx=ast.Store() | ast.Del()):
                    bound[node.id] = None
                case ast.ExceptHandler(name=str(name)):
                    bound[name] = None
                case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                    bound[name] = None
                case ast.MatchMapping(rest=str(name)):
                    bound[name] = None
            if isinstance(node, _COMPREHENSIONS):
                # Only `:=` inside binds a name of the function.
                todo.extend(n for n in ast.walk(node) if isinstance(n, ast.NamedExpr))
                continue
            todo.extend(ast.iter_child_nodes(node))
        for name in outer:
            bound.pop(name, None)
        return bound


def all_arguments(args: ast.arguments) -> list[ast.arg]:
    """The parameters of a function, in the order in which they are written."""
    found = [*args.posonlyargs, *args.args]
    if args.vararg is not None:
        found.append(args.vararg)
    found += args.kwonlyargs
    if args.kwarg is not None:
        found.append(args.kwarg)
    return found


def attribute_names(node: ast.AST) -> Iterator[str]:
    """Names that code may ask an object for: attributes, and words in strings.

    `getattr(self, "dtype")` and `method="attend"` name methods by strings; a docstring
    does not.
    """
    prose = {
        id(inner.body[0].value)
        for inner in ast.walk(node)
        if isinstance(inner, (*FUNCTIONS, ast.ClassDef, ast.Module))
        and inner.body
        and isinstance(inner.body[0], ast.Expr)
    }
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute):
            yield inner.attr
        elif isinstance(inner, ast.keyword) and inner.arg:
            continue
        elif (
            isinstance(inner, ast.Constant)
            and isinstance(inner.value, str)
            and inner.value.isidentifier()
            and id(inner) not in prose
        ):
            yield inner.value
