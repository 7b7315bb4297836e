"""What a check is about: a config, and what can be made of it, each made once.

The levels share all of it: one snapshot, one build, one abstract initialisation.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fdlkit.check import codes
from fdlkit.check.findings import Finding, Number
from fdlkit.check.objects import Calls, built_objects, watched
from fdlkit.check.request import Request
from fdlkit.errors import UserError
from fdlkit.graph import origins, paths
from fdlkit.graph.faults import find_argument
from fdlkit.graph.model import Graph, Link, Node, Origin
from fdlkit.graph.paths import Path
from fdlkit.graph.places import Places
from fdlkit.graph.resolve import Resolver
from fdlkit.graph.snapshot import Taken, take

if TYPE_CHECKING:
    from jax.sharding import AbstractMesh

    from fdlkit.check.aot.compiling import Compiled, NotCompiled
    from fdlkit.check.trace import Trace
    from fdlkit.sharding.mesh import Mesh
    from fdlkit.train.setup import Shapes
    from fdlkit.train.trainer import Trainer

TRAINER = ("fdlkit.train.trainer", "Trainer")


class Subject:
    """A config under check.

    What cannot be made is None, and the reason is beside it: `trainer` and
    `build_error`, `mesh` and `mesh_error`, `shapes` and `shapes_error`.

    Attributes:
      config: The config; it is not changed.
      request: What to take for given.
      levels: The names of the levels that look at it: what two of them could tell is
        told by one.
    """

    def __init__(self, config: Any, request: Request | None = None):
        self.config = config
        self.request = request or Request()
        self.levels: frozenset[str] = frozenset()
        self._calls: Calls | None = None

    def with_trainer(self, trainer: Trainer) -> Subject:
        """The same, for whoever has built it already."""
        made = Subject(self.config, self.request)
        vars(made)["_built"] = (trainer, None)
        return made

    @functools.cached_property
    def taken(self) -> Taken:
        """The config's graph, with the value that each node was taken of."""
        return take(self.config)

    @property
    def graph(self) -> Graph:
        """The config's neutral form."""
        return self.taken.graph

    @functools.cached_property
    def places(self) -> Places:
        """Where the graph's nodes stand."""
        return Places(self.graph)

    @functools.cached_property
    def resolver(self) -> Resolver:
        """What the graph's references come to."""
        return Resolver(self.graph, self.places)

    @property
    def root(self) -> Node | None:
        """The root's node; None if the config is a leaf."""
        return self.graph.node(self.graph.root)

    @functools.cached_property
    def why_no_experiment(self) -> str | None:
        """Why this is no experiment; None if it is one."""
        root = self.root
        if root is None or not root.is_buildable or root.callable is None:
            return "it is not a config"
        live = root.callable.live
        # By name, so that a config of anything else is checked without JAX.
        bases = inspect.getmro(live) if inspect.isclass(live) else ()
        if not any((b.__module__, b.__qualname__) == TRAINER for b in bases):
            return f"it builds a {root.callable.name}, not an experiment"
        if root.kind != "config":
            return f"it is a {root.kind} of {root.callable.name}, not an experiment"
        return None

    @property
    def is_experiment(self) -> bool:
        """Whether the config is one of a `Trainer`."""
        return self.why_no_experiment is None

    @functools.cached_property
    def _built(self) -> tuple[Any, UserError | None]:
        from fdlkit.graph.build import build

        try:
            return build(self.config), None
        except UserError as error:
            return None, error

    @property
    def built(self) -> Any:
        """What the config builds; None if it cannot be built."""
        return self._built[0]

    @property
    def build_error(self) -> UserError | None:
        """Why it cannot be built."""
        return self._built[1]

    @property
    def trainer(self) -> Trainer | None:
        """The built trainer; None if this is no experiment or cannot be built."""
        return self.built if self.is_experiment else None

    @functools.cached_property
    def configured_mesh(self) -> Mesh | None:
        """The sizes asked for, else the experiment's own; None without a trainer."""
        from fdlkit.sharding.mesh import Mesh, MeshAxes

        if self.request.mesh is not None:
            ici, dcn = (self.request.mesh_axes(part) for part in ("ici", "dcn"))
            return Mesh(ici=MeshAxes(**ici), dcn=MeshAxes(**dcn))
        return None if self.trainer is None else self.trainer.mesh

    @functools.cached_property
    def _meshed(self) -> tuple[AbstractMesh | None, UserError | None]:
        if self.configured_mesh is None:
            return None, self.build_error
        try:
            devices, slices = self.request.devices, self.request.slices
            return self.configured_mesh.abstract(devices, slices), None
        except UserError as error:
            return None, error

    @property
    def mesh(self) -> AbstractMesh | None:
        """The mesh to check on: the one asked for, else the experiment's own.

        None if its sizes do not fit the devices, or there is no trainer.
        """
        return self._meshed[0]

    @property
    def across(self) -> dict[str, int]:
        """The mesh axes that go across slices, and over how many each does."""
        mesh = self.configured_mesh
        if mesh is None:
            return {}
        return {a: n for a, n in dataclasses.asdict(mesh.dcn).items() if n > 1}

    @functools.cached_property
    def compiled(self) -> Compiled | NotCompiled | None:
        """What the compiler of the topology makes of the training step.

        None if that was not asked for, there is no such compiler, or the run is refused
        before it gets so far.

        Raises:
          UserError: There is no libtpu that fits.
        """
        from fdlkit.check.aot.compiling import NotCompiled, compile_step
        from fdlkit.check.aot.program import exported_step

        machine, mesh = self.request.topology, self.configured_mesh
        if not self.request.compile or machine is None or mesh is None:
            return None
        if self.trainer is None or self.mesh is None:
            return None
        try:
            setup = self.trainer.setup_on(self.mesh)
        except UserError:
            return None
        try:
            step = exported_step(setup, "tpu" if machine.is_tpu else "cuda")
        except Exception as error:  # noqa: BLE001 - a lowering rule may raise anything
            said = str(error) or repr(error)
            return NotCompiled("lower", f"it cannot be lowered: {said}")
        if not machine.is_tpu:
            return None
        ici, dcn = mesh.parts(machine.devices, machine.slices)
        program = bytes(step.serialize())
        return compile_step(program, machine, ici=ici, dcn=dcn)

    @property
    def is_smallest(self) -> bool:
        """Whether `mesh` stands for larger ones too: an axis is the rest of any."""
        mesh = self.configured_mesh
        if mesh is None or self.request.devices is not None:
            return False
        return -1 in (*mesh.ici.sizes(), *mesh.dcn.sizes())

    @property
    def mesh_error(self) -> UserError | None:
        """Why there is no mesh."""
        return self._meshed[1]

    @functools.cached_property
    def _traced(self) -> tuple[Shapes | None, UserError | None]:
        if self.trainer is None:
            return None, self.build_error
        failed: UserError | None = None
        # First as the run does it; without a mesh where mesh or rules are wrong.
        for mesh in (self.mesh, None) if self.mesh is not None else (None,):
            try:
                with watched(self.objects) as calls:
                    shapes = self.trainer.shapes(mesh)
            except UserError as error:
                failed = failed or error
                continue
            # Of shapes that the trainer had traced before, no call was seen.
            self._calls = calls if any(calls.paths.values()) else None
            return shapes, None
        return None, failed

    @property
    def shapes(self) -> Shapes | None:
        """The shapes of the run's arrays, traced once.

        They are there also where the mesh or the rules are wrong. None if the model
        cannot be initialised on its data, or there is no trainer.
        """
        return self._traced[0]

    @functools.cached_property
    def trace(self) -> Trace:
        """The run's functions, traced once; see `trace.Trace`.

        Only for a subject that has a trainer.
        """
        from fdlkit.check.trace import trace_of

        assert self.trainer is not None
        return trace_of(self.trainer, self.shapes, self.mesh)

    @property
    def shapes_error(self) -> UserError | None:
        """Why there are no shapes."""
        return self._traced[1]

    @functools.cached_property
    def objects(self) -> Mapping[int, Any]:
        """The built object of each node for which it could be found."""
        return built_objects(self.graph, self.built)

    @property
    def calls(self) -> Calls | None:
        """Where the modules of nodes were called when the shapes were traced.

        None if there are no shapes, or somebody else has traced them.
        """
        return None if self.shapes is None else self._calls

    def finding(
        self,
        code: str,
        path: Path | str,
        text: str,
        *,
        fix: str,
        subject: str | None = None,
        meant: str | None = None,
        numbers: Mapping[str, Number] | None = None,
        nearest: tuple[object, ...] = (),
    ) -> Finding:
        """A finding of this config: severity and source are looked up.

        Args:
          code: One of `codes.CODES`.
          path: Where in the config.
          text: What is wrong.
          fix: What to do.
          subject: The parameter or activation that it is about.
          meant: What was likely meant; None or empty if there is no guess.
          numbers: The numbers of the text.
          nearest: Values that would work.
        """
        where = paths.parse(path) if isinstance(path, str) else path
        origin = self.origin(where)
        return Finding(
            code=code,
            severity=codes.find(code).severity,
            path=paths.format(where),
            text=text,
            fix=fix,
            subject=subject,
            source=None if origin is None else origins.short(origin),
            meant=meant or "",
            numbers=tuple((numbers or {}).items()),
            nearest=tuple(map(str, nearest)),
        )

    def outside(
        self,
        code: str,
        variable: str,
        text: str,
        *,
        fix: str,
        meant: str | None = None,
        numbers: Mapping[str, Number] | None = None,
    ) -> Finding:
        """A finding that no value of the config has caused.

        Args:
          code: One of `codes.CODES`.
          variable: The variable of the environment or the flag that has.
          text: What is wrong.
          fix: What to do.
          meant: What was likely meant.
          numbers: The numbers of the text.
        """
        return Finding(
            code=code,
            severity=codes.find(code).severity,
            path=paths.ROOT,
            text=text,
            fix=fix,
            subject=variable,
            meant=meant or "",
            numbers=tuple((numbers or {}).items()),
        )

    def origin(self, path: Path) -> Origin | None:
        """Who wrote what is at a path, or the nearest value around it."""
        found: Origin | None = None
        value = self.graph.root
        node = self.graph.node(value)
        if node is not None:
            found = node.origin
        for key in path:
            argument = None if node is None else find_argument(node, key)
            if argument is None:
                break
            reached = argument.default if argument.value is None else argument.value
            if argument.value is not None and argument.origin is not None:
                found = argument.origin
            if reached is None:
                break
            value = reached
            node = self.graph.node(value)
        return found

    def node_at(self, path: Path) -> int | None:
        """The node at a path, by its number; None if it leads to a leaf or nowhere."""
        value = self.graph.root
        for key in path:
            node = self.graph.node(value)
            argument = None if node is None else find_argument(node, key)
            if argument is None or argument.value is None:
                return None
            value = argument.value
        return value.node if isinstance(value, Link) else None
