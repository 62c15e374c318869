"""torch.func: gradients as functions of functions, which nest and compose.

Each call opens a level. Its inputs get stand-ins, the only tensors that are differentiated there, so that a tensor
reached in another way (a closure, an outer level's input) is a constant. When the level closes, a result keeps its
history only if something other than the level's own stand-ins has a part in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradcli.core.autograd.saved_tensor_hooks import Disabled
from gradcli.core.autograd.tensor_state import detach, set_requires_grad
from gradcli.core.calling import warnings
from gradcli.core.calling.routines import Routine
from gradcli.core.calling.signature import language
from gradcli.core.graph.op_node import OpNode
from gradcli.core.graph.record import Op
from gradcli.core.ops.rules import UNCHANGED, check_tangent_size
from gradcli.core.ops.shape.casting import ALIAS
from gradcli.core.tensor.batched import ones_of_samples
from gradcli.core.tensor.state import recording, state
from gradcli.core.tensor.tensor import Tensor, zeros_like
from gradcli.core.tensor.text import formatted
from gradcli.core.transforms import forward_ad, jacobians
from gradcli.core.transforms.jacobians import Gradients
from gradcli.core.transforms.pytree import flatten, map_leaves, rebuild
from gradcli.core.transforms.user_functions import call, qualified_name_of
from gradcli.core.transforms.wrapping import Wrapping, reaches_outside
from gradcli.errors import ProgramError, runtime_error, shape_error

JVP_TEXT = "jvp(f, primals, tangents)"
VJP_TEXT = "vjp(f, *primals)"
NO_HOOKS = "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an issue with your use case."


class _Through(OpNode):
    """The node of a stand-in: programs see the input in its place."""

    __slots__ = ()

    hidden = True


class _StandIn(Op):
    __slots__ = ()
    node_type = _Through


_STAND_IN: Op = _StandIn("AliasBackward0", lambda a: a.view(), "input", view=True, input=UNCHANGED, complex=True)


class Level:
    """The stand-ins of one call. Inside `with` they require grad and everything is recorded."""

    __slots__ = ("before", "own", "given", "kinds", "mapped", "wrapping", "recording", "start")

    def __init__(self, *kinds: str) -> None:
        #: the names of the transforms, "grad" for none
        self.kinds = kinds or ("grad",)
        self.wrapping: Wrapping | None = None
        self.before = state.enabled
        #: the calls of vmap that the level is inside of
        self.mapped = state.mapped
        #: leaves of this level, by identity
        self.own: dict[int, Tensor] = {}
        #: stand-ins and the inputs they stand for, by the identity of the stand-in
        self.given: dict[int, tuple[Tensor, Tensor]] = {}
        self.start = state.sequence
        self.recording = recording(True)

    def __enter__(self) -> Level:
        self.recording = recording(True)
        self.recording.__enter__()
        # what is pulled back within a further vmap is computed outside of it, where this level says whether it is recorded
        self.wrapping = Wrapping(self.kinds, self.own, self.before if state.mapped == self.mapped else None)
        for leaf in self.own.values():
            leaf.requires_grad = True
        return self

    def __exit__(self, *_: object) -> None:
        for leaf in self.own.values():
            leaf.requires_grad = False
        if self.wrapping is not None:
            self.wrapping.close()
        self.recording.__exit__()

    def leaf(self, tensor: Tensor) -> Tensor:
        """Make a tensor a leaf of this level."""
        if state.mapped:
            tensor = state.mapped[-1].lift(tensor)
        set_requires_grad(tensor, True)
        self.own[id(tensor)] = tensor
        return tensor

    def stand_in(self, value: Any) -> Tensor:
        """The tensor that the function gets in place of an input that is differentiated."""
        if type(value) is not Tensor:
            raise ProgramError("ValueError", f"Thing passed to transform API must be Tensor, got {language.type_repr(value)}")
        made = self._placed(value)
        if not made.requires_grad:
            self.leaf(made)
        made.set_property("captured", False)
        self.given[id(made)] = made, value
        return made

    def _placed(self, value: Tensor) -> Tensor:
        """A tensor as it stands within the level."""
        lifted = state.mapped[-1].lift(value) if state.mapped else value
        made: Tensor = _STAND_IN(lifted) if lifted.requires_grad and self.before else _without_history(lifted)
        return made

    def wrapped(self, value: Any) -> Any:
        """What the function gets in place of an argument that is not differentiated: a tensor that is wrapped in the level."""
        if type(value) is not Tensor:
            return value
        made = self._placed(value)
        made.set_property("captured", False)
        self.given[id(made)] = made, value
        return made

    def matters_outside(self, tensor: Tensor) -> bool:
        """Whether a gradient of `tensor` would reach anything but this level's own leaves."""
        return tensor.requires_grad and self.before and reaches_outside(tensor, self.own, self.start)

    def is_recorded(self, *tensors: Tensor) -> bool:
        """Whether derivatives of the tensors are to be recorded, for transforms outside or for what has no transform around it.

        The values of a batched tensor may have a history that its own graph shows nothing of.
        """
        batched = state.mapped[-1].is_recorded_outside if state.mapped else None
        return any(self.matters_outside(t) or (batched is not None and self.before and batched(t)) for t in tensors)

    def leave(self, value: Any) -> Any:
        """A nest of results without the history of this level: tensors that matter outside keep theirs, others are detached.

        For a stand-in of an input the input itself is given.
        """
        return map_leaves(self._left, value)

    def _left(self, value: Any) -> Tensor:
        if type(value) is not Tensor:
            raise _no_tensor(value)
        if id(value) in self.given:
            return self.given[id(value)][1]
        if value.requires_grad and not self.matters_outside(value):
            value = _without_history(value, self._left)
        return value if self.wrapping is None else self.wrapping.unwrap(value)

    def gradients(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], v: Gradients | None, keep: bool, graph: bool) -> list[Tensor]:
        """Gradients of the inputs, zeros where nothing depends on them."""
        found = jacobians.vjp(outputs, inputs, v, retain_graph=keep, create_graph=graph)
        return [zeros_like(i) if g is None else g for g, i in zip(found, inputs, strict=True)]


def _no_tensor(value: Any) -> ProgramError:
    return runtime_error(f"Expected tensors, got unsupported type {language.type_repr(value)}")


def _without_history(tensor: Tensor, leave: Callable[[Tensor], Tensor] = lambda tangent: tangent) -> Tensor:
    """`tensor.detach()`. A tangent that it has in forward mode, which belongs to another transform, stays, as `leave` gives it."""
    made = detach(tensor)
    made.array = tensor.array  # with the history that a batched tensor has outside of vmap
    tangent = None if state.dual is None else state.dual.tangent_of(tensor)
    if state.dual is not None and tangent is not None:
        state.dual.set_tangent(made, leave(tangent))
    return made


# --- which arguments ---


def positions_of(argnums: Any, count: int) -> list[int]:
    """`argnums` as non-negative positions."""
    if not isinstance(argnums, (int, tuple)):
        raise runtime_error(f"argnums must be int or Tuple[int, ...], got: {language.type_repr(argnums)}")
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    found = []
    for number in numbers:
        if not isinstance(number, int):
            raise runtime_error(f"argnum must be int, got: {language.type_repr(number)}")
        if not -count <= number < count:
            raise runtime_error(f"Got argnum={formatted(number)}, but only {count} positional inputs")
        found.append(number % count)
    if not found:
        raise runtime_error("argnums must be non-empty")
    if len(set(found)) != len(found):
        raise runtime_error(f"argnums elements must be unique, got {formatted(argnums)}")
    return found


def points_of(level: Level, args: tuple[Any, ...], argnums: Any) -> tuple[list[Any], Any]:
    """The arguments with stand-ins in place, and those of `argnums` as one nest."""
    positions = positions_of(argnums, len(args))
    placed = [map_leaves(level.stand_in if at in positions else level.wrapped, arg) for at, arg in enumerate(args)]
    return placed, tuple(placed[at] for at in positions) if isinstance(argnums, tuple) else placed[positions[0]]


def split_aux(result: Any, has_aux: Any, caller: str) -> tuple[Any, Any]:
    """The output of a function, and what else it returns if `has_aux`, else None. RuntimeError for anything but a pair with `has_aux`."""
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise runtime_error(f"{caller}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return result


def tensor_leaves(value: Any, caller: str) -> tuple[list[Tensor], Any]:
    """The outputs of a function, which must all be tensors."""
    leaves, spec = flatten(value)
    if not leaves or (len(leaves) == 1 and leaves[0] is None):
        raise runtime_error(f"{caller}: Expected f to be a function that has non-empty output (got output = {leaves})")
    for leaf in leaves:
        if type(leaf) is not Tensor:
            raise runtime_error(f"{caller}: expected f(*primals) to return only tensors, got unsupported type {language.type_repr(leaf)}")
    return leaves, spec


def check_differentiable(outputs: Sequence[Tensor]) -> None:
    """Raise RuntimeError for an output whose dtype has no gradients."""
    for output in outputs:
        if not output.dtype.is_differentiable:
            raise runtime_error(
                f"vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype {output.dtype}"
            )


# --- gradients of scalar functions ---


def _grad_and_value(func: Any, argnums: Any, has_aux: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, Any]:
    level = Level()
    with Disabled(NO_HOOKS), level:
        placed, points = points_of(level, args, argnums)
        output, aux = split_aux(call(func, placed, kwargs), has_aux, "grad_and_value(f)(*args)")
        if type(output) is not Tensor:
            raise runtime_error(f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {language.type_repr(output)}")
        if output.array.ndim:
            raise runtime_error(
                "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
                f"{output.array.ndim} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
            )
        leaves, spec = flatten(points)
        outside = level.is_recorded(output)
        ones = None if output.batch is None or output.dtype.is_complex else (ones_of_samples(output),)
        found = level.gradients((output,), leaves, ones, keep=outside, graph=outside)
        gradients = level.leave(rebuild(spec, found))
        return gradients, level.leave(output), level.leave(aux) if has_aux else None


def grad(func: Any, argnums: Any = 0, has_aux: Any = False) -> Routine:
    """`grad(f)(*args)`: the gradient of f, which returns one number, with respect to the arguments `argnums`."""

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradients, _, aux = _grad_and_value(func, argnums, has_aux, args, kwargs)
        return (gradients, aux) if has_aux else gradients

    return Routine(wrapper, qualified_name_of(func))


def grad_and_value(func: Any, argnums: Any = 0, has_aux: Any = False) -> Routine:
    """`grad_and_value(f)(*args)`: gradient and value as a pair."""

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradients, value, aux = _grad_and_value(func, argnums, has_aux, args, kwargs)
        return (gradients, (value, aux)) if has_aux else (gradients, value)

    return Routine(wrapper, qualified_name_of(func))


# --- products ---


def vjp(func: Any, *primals: Any, has_aux: Any = False) -> Any:
    """`(f(*primals), pull)`, where `pull(v)` gives v^T J; a third part with `has_aux`."""
    level = Level()
    with Disabled(NO_HOOKS), level:
        points = map_leaves(level.stand_in, primals)
        output, aux = split_aux(call(func, points), has_aux, VJP_TEXT)
        outputs, out_spec = tensor_leaves(output, VJP_TEXT)
        check_differentiable(outputs)
        leaves, in_spec = flatten(points)
        outside = level.is_recorded(*outputs)
        results = level.leave(output)
        extra = level.leave(aux) if has_aux else None

    def wrapper(cotangents: Any, retain_graph: Any = True, create_graph: Any = None) -> Any:
        given, given_spec = flatten(cotangents)
        if given_spec != out_spec:
            raise runtime_error(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                f"cotangents: {given_spec.outline()}, primal output: {out_spec.outline()}"
            )
        wanted = state.enabled if create_graph is None else create_graph
        with level:
            graph = bool(wanted and (outside or any(g.requires_grad for g in given) or level.is_recorded(*given)))
            found = level.gradients(outputs, leaves, given, keep=bool(retain_graph), graph=graph)
            return rebuild(in_spec, [level.leave(g) for g in found])

    pull = Routine(wrapper, "_vjp_with_argnums.<locals>.wrapper")
    return (results, pull, extra) if has_aux else (results, pull)


def _tangents(primals: Any, tangents: Any) -> tuple[list[Tensor], Any, list[Tensor]]:
    """The primals' leaves and shape, and the tangents' leaves, checked."""
    if not isinstance(primals, tuple):
        raise runtime_error(f"{JVP_TEXT}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    leaves, spec = flatten(primals)
    directions, given_spec = flatten(tangents)
    if spec != given_spec:
        raise runtime_error(
            f"{JVP_TEXT}: Expected primals and tangents to have the same python structure. For example, if primals is a tuple of 3 "
            f"tensors, tangents also must be. Got primals with structure {spec.listing()} and tangents with structure "
            f"{given_spec.listing()}"
        )
    for values, what in ((leaves, "primals"), (directions, "tangents")):
        if not values:
            raise runtime_error(f"{JVP_TEXT}: Expected {what} to contain at least one Tensor.")
        for value in values:
            if type(value) is not Tensor:
                raise runtime_error(f"{JVP_TEXT}: Expected {what} to only contain Tensors, got {language.type_repr(value)}")
    for primal, tangent in zip(leaves, directions, strict=True):
        check_tangent_size(primal, tangent)
    return leaves, spec, directions


def jvp(func: Any, primals: Any, tangents: Any, *, strict: Any = False, has_aux: Any = False) -> Any:
    """`(f(*primals), J u)` for the direction u, `tangents`: in forward mode, inside another jvp by backward passes."""
    leaves, spec, directions = _tangents(primals, tangents)
    forward_ad.check_nesting()
    compute = forward_products if state.dual is None else _backward_products
    output, out_spec, products, aux = compute(func, spec, leaves, directions, has_aux)
    if strict and any(product is None for product in products):
        raise runtime_error(
            f"{JVP_TEXT[:-1]}, strict=True): The output of f is independent of the inputs. This is not allowed with strict=True."
        )
    outputs = flatten(output)[0]
    moved = rebuild(out_spec, [zeros_like(o) if p is None else p for o, p in zip(outputs, products, strict=True)])
    result = (map_leaves(_aliased, output), moved)
    return (*result, aux) if has_aux else result


_Products = tuple[Any, Any, list[Tensor | None], Any]


def forward_products(
    func: Any, spec: Any, leaves: list[Tensor], directions: list[Tensor], has_aux: Any, kinds: tuple[str, ...] = ("jvp",)
) -> _Products:
    """The outputs, their shape, J u of each (None where it depends on no input) and what else f returns, in forward mode."""
    forward_ad.open_level(True)
    wrapping = Wrapping(kinds, {})

    def left(value: Any) -> Any:
        return wrapping.unwrap(value) if type(value) is Tensor else value

    def left_aside(value: Any) -> Any:
        if type(value) is not Tensor:
            raise _no_tensor(value)
        return wrapping.unwrap(value)

    try:
        duals = [forward_ad.make_dual(primal, tangent) for primal, tangent in zip(leaves, directions, strict=True)]
        for dual in duals:
            dual.set_property("captured", False)
        output, aux = split_aux(call(func, rebuild(spec, duals)), has_aux, JVP_TEXT)
        outputs, out_spec = tensor_leaves(output, JVP_TEXT)
        pairs = [forward_ad.unpack_dual(o) for o in outputs]
        primals = [o if o.requires_grad else primal for o, (primal, _) in zip(outputs, pairs, strict=True)]
        beside = map_leaves(left_aside, aux) if has_aux else None
        return rebuild(out_spec, map(left, primals)), out_spec, [left(tangent) for _, tangent in pairs], beside
    finally:
        wrapping.close()
        forward_ad.exit_dual_level()


def _backward_products(func: Any, spec: Any, given: list[Tensor], directions: list[Tensor], has_aux: Any) -> _Products:
    """The same, as the derivative of v^T J with respect to v."""
    level = Level("jvp")
    with level:
        leaves = [level.stand_in(p) for p in given]
        output, aux = split_aux(call(func, rebuild(spec, leaves)), has_aux, JVP_TEXT)
        outputs, out_spec = tensor_leaves(output, JVP_TEXT)
        outside = level.is_recorded(*outputs, *directions)
        moved = [pushed(level, o, leaves, directions, outside) for o in outputs]
        products = [None if m is None else level.leave(m) for m in moved]
        return level.leave(output), out_spec, products, level.leave(aux) if has_aux else None


def _aliased(output: Tensor) -> Tensor:
    """An output with a history has its alias as the value beside the product, as forward mode gives it."""
    return ALIAS(output) if output.requires_grad else output


#: PyTorch's warning of its own graph of the function
_FOLDED = (
    "Attempted to insert a get_attr Node with no underlying reference in the owning GraphModule! Call GraphModule.add_submodule to add the "
    "necessary submodule, GraphModule.add_parameter to add the necessary Parameter, or nn.Module.register_buffer to add the necessary "
    "buffer"
)


def linearize(func: Any, *primals: Any) -> tuple[Any, Routine]:
    """`(f(*primals), push)`, where `push(*tangents)` gives J u. The function is called twice, for its value and for its derivative."""
    given, spec = flatten(primals)
    results = call(func, primals)
    level = Level("jvp")
    with level:
        leaves = [level.stand_in(p) for p in given]
        outputs, out_spec = tensor_leaves(call(func, rebuild(spec, leaves)), JVP_TEXT)
        outside = level.is_recorded(*outputs)
    warnings.emit(_FOLDED, inside="const_fold")

    def jvp_fn(*tangents: Any) -> Any:
        directions, given_spec = flatten(tangents)
        if given_spec != spec:
            raise runtime_error(f"Expected the tangents {given_spec.listing()} to have the same argspec as the primals {spec.listing()}")
        for i, (direction, leaf) in enumerate(zip(directions, leaves, strict=True)):
            start = f"tangent:{i} with {{}} in flattened pytree doesn't match the {{}} of the corresponding primal."
            if direction.array.shape != leaf.array.shape:
                raise shape_error(start.format(f"shape {direction.shape}", f"shape {leaf.shape}"))
            if direction.dtype is not leaf.dtype:
                raise runtime_error(start.format(f"dtype {direction.dtype}", f"dtype {leaf.dtype}"))
        with level:
            moved = [pushed(level, o, leaves, directions, outside) for o in outputs]
            products = [zeros_like(o) if m is None else level.leave(m) for o, m in zip(outputs, moved, strict=True)]
        return rebuild(out_spec, products)

    return results, Routine(jvp_fn, "linearize.<locals>.jvp_fn")


def pushed(level: Level, output: Tensor, leaves: list[Tensor], directions: list[Tensor], graph: bool) -> Tensor | None:
    """J u for one output; None if it depends on no input."""
    if not output.requires_grad:
        return None
    pulled: list[Tensor | None] = []
    probe = level.leaf(zeros_like(output))
    (found,) = jacobians.jvp((output,), leaves, directions, probes=(probe,), check=pulled.extend, create_graph=graph)
    vanishes = found is None and any(gradient is not None for gradient in pulled)
    return zeros_like(output) if vanishes else found


def functionalize(func: Any, *, remove: Any = "mutations") -> Routine:
    """`functionalize(f)(*args)`: what f returns. What is written to tensors inside stays as it is, for nothing compiles f here."""
    if not isinstance(remove, str) or remove not in ("mutations", "mutations_and_views"):
        raise runtime_error(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={formatted(remove)}. Valid options are:\n"
            "     remove='mutations': all inplace and out= operators will be removed from the program, and replaced with their "
            "out-of-place equivalents.\n"
            "     remove='mutations_and_views': In addition to the above, all aliasing operators {view} will be replaced with their "
            "non-aliasing counterparts, {view}_copy.\n"
        )

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return call(func, args, kwargs)

    return Routine(wrapped, qualified_name_of(func))


GRAD = Routine(grad)
GRAD_AND_VALUE = Routine(grad_and_value)
VJP = Routine(vjp)
JVP = Routine(jvp)
LINEARIZE = Routine(linearize)
FUNCTIONALIZE = Routine(functionalize)
