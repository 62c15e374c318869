"""`np.random`: numpy's own numbers, by RandomState and by default_rng."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np

from gradcli.core.calling.routines import Routine
from gradcli.core.random import generator
from gradcli.core.tensor.tensor import Tensor
from gradcli.lang.arrays import session
from gradcli.lang.arrays.conversion import as_index, operand, plain
from gradcli.lang.arrays.parameters import Declared
from gradcli.lang.arrays.running import broadcast_size, check_size, check_work, count_of, run, type_error
from gradcli.lang.arrays.values import NumpyArray, NumpyScalar, wrap
from gradcli.lang.python.object_protocol import Value
from gradcli.lang.values.representation import address
from gradcli.lang.values.type_names import type_name
from gradcli.lang.values.value_classes import Builtin, register

Host = np.random.RandomState | np.random.Generator

#: the parameters of functions, by name, that both kinds of generator have
_BOTH = {
    "beta": "array a, array b, shape size=",
    "binomial": "array n, array p, shape size=",
    "chisquare": "array df, shape size=",
    "exponential": "array scale=, shape size=",
    "gamma": "array shape, array scale=, shape size=",
    "geometric": "array p, shape size=",
    "gumbel": "array loc=, array scale=, shape size=",
    "laplace": "array loc=, array scale=, shape size=",
    "logistic": "array loc=, array scale=, shape size=",
    "lognormal": "array mean=, array sigma=, shape size=",
    "normal": "array loc=, array scale=, shape size=",
    "poisson": "array lam=, shape size=",
    "standard_cauchy": "shape size=",
    "standard_exponential": "shape size=",
    "standard_t": "array df, shape size=",
    "triangular": "array left, array mode, array right, shape size=",
    "uniform": "array low=, array high=, shape size=",
    "multinomial": "int n, array pvals, shape size=",
    "dirichlet": "array alpha, shape size=",
    "multivariate_normal": "array mean, array cov, shape size=",
}
_OLD = {
    **_BOTH,
    "random": "shape size=",
    "random_sample": "shape size=",
    "standard_normal": "shape size=",
    "randint": "array low, array high=, shape size=, dtype dtype=",
}
_NEW = {
    **_BOTH,
    "random": "shape size=, dtype dtype=",
    "standard_normal": "shape size=, dtype dtype=",
    "integers": "array low, array high=, shape size=, dtype dtype=, bool endpoint=",
}


def _drawn(converted: Mapping[str, Any]) -> None:
    """Refuse a draw of too many numbers; the other parameters broadcast. Raises LimitError."""
    size = converted.get("size")
    given = [one for key, one in converted.items() if key not in ("size", "dtype", "endpoint", "n")]
    many = max(1, broadcast_size([one for one in given if one is not None]))
    if size is not None:
        many *= count_of(size)
    if "cov" in converted:
        many = max(many, np.size(converted["cov"]))
        check_work(30 * np.size(converted["cov"]) ** 1.5)
    check_size(many)


class NumpyRandom:
    """`numpy.random.RandomState` or `numpy.random.Generator`."""

    __slots__ = ("__weakref__", "host")

    SCRIPT_NAME = "RandomState"
    SHOWN = "RandomState(MT19937)"

    def __init__(self, host: Host) -> None:
        self.host = host

    def copied(self, deep: bool) -> NumpyRandom:
        """A deep copy is a stream of its own that goes on alike; a shallow one draws from the same stream."""
        return type(self)(deepcopy(self.host) if deep else self.host)

    def __repr__(self) -> str:
        return f"{self.SHOWN} at 0x{address(self)[2:].upper()}"

    SCRIPT_METHODS: Mapping[str, Callable[..., Value]] = {}


class NumpyGenerator(NumpyRandom):
    """`numpy.random.Generator`, as `np.random.default_rng` makes it."""

    __slots__ = ()

    SCRIPT_NAME = "Generator"
    SHOWN = "Generator(PCG64)"

    SCRIPT_METHODS: Mapping[str, Callable[..., Value]] = {}


def _call(name: str, host: Host, /, *args: Any, **kwargs: Any) -> Any:
    kwargs = {key: value for key, value in kwargs.items() if value is not None or key != "dtype"}
    return getattr(host, name)(*args, **kwargs)


def _distribution(name: str, parameters: str) -> Callable[..., Value]:
    def draw(value: NumpyRandom, /, *args: Value, **kwargs: Value) -> Value:
        return Declared(name, partial(_call, name, value.host), parameters, _drawn)(*args, **kwargs)

    return draw


def _shaped(name: str) -> Callable[..., Value]:
    """`rand(2, 3)` and `randn(2, 3)`."""

    def draw(value: NumpyRandom, *sizes: Value) -> Value:
        shape = [as_index(one) for one in sizes]
        check_size(count_of(tuple(shape)))
        return wrap(run(getattr(value.host, name), *shape))

    return draw


def _seed(value: NumpyRandom, seed: Value = None) -> None:
    """`np.random.seed(seed)`: without a seed that of the session."""
    host = value.host
    assert isinstance(host, np.random.RandomState)
    run(host.seed, _seed_of(seed))


def _seed_of(seed: Value) -> Any:
    if seed is None:
        return generator.default.initial_seed() & 0xFFFFFFFF
    if isinstance(seed, list | tuple | NumpyArray):
        given = operand(seed)
        check_size(given.size)
        return given
    if isinstance(seed, float):
        raise type_error("Cannot cast scalar from dtype('float64') to dtype('int64') according to the rule 'safe'")
    return as_index(seed)


def _permutation(value: NumpyRandom, x: Value, axis: Value = 0) -> Value:
    if type(x) is int or isinstance(x, NumpyScalar):
        given: Any = as_index(x)
        check_size(max(0, given))
    else:
        given = operand(x)
        check_size(given.size)
    return wrap(run(value.host.permutation, given) if not axis else run(value.host.permutation, given, axis=as_index(axis)))


def _shuffle(value: NumpyRandom, x: Value, axis: Value = 0) -> None:
    """`shuffle(x)`: an array or a list in place."""
    if isinstance(x, NumpyArray):
        if axis:
            run(value.host.shuffle, x.array, as_index(axis))
        else:
            run(value.host.shuffle, x.array)
    elif type(x) is list:
        run(value.host.shuffle, x)
    elif type(x) is Tensor:
        raise type_error("np.random.shuffle() of a tensor is not part of gradcli: x[torch.randperm(len(x))] is a shuffled copy")
    else:
        raise type_error(f"np.random.shuffle() takes an array or a list, not a {type_name(x)}")


def _choice(value: NumpyRandom, a: Value, size: Value = None, replace: Value = True, p: Value = None, **kwargs: Value) -> Value:
    """`choice(a, size, replace, p)`; of a list of other values than numbers the items themselves are chosen."""
    for key in kwargs:
        raise type_error(f"choice() got an unexpected keyword argument '{key}'")
    population = a
    if isinstance(a, list | tuple | range):
        population = len(a) if _has_objects(a) else a
    declared = Declared("choice", value.host.choice, "array a, shape size=, bool replace=, array p=", _chosen)
    given: dict[str, Value] = {"size": size, "replace": replace, "p": p}
    found = declared(population, **given)
    if population is a:
        return found
    if isinstance(found, NumpyArray):
        raise type_error("np.random.choice() of several items that are no numbers makes an array of strings, which is not part of gradcli")
    return a[as_index(found)]


def _has_objects(items: Value) -> bool:
    return any(isinstance(item, str) for item in items)


def _chosen(converted: Mapping[str, Any]) -> None:
    a, size = converted["a"], converted.get("size")
    check_size(int(a) if np.ndim(a) == 0 else np.size(a))
    check_size(np.size(a) * (1 if size is None else count_of(size)) if np.ndim(a) > 1 else 1 if size is None else count_of(size))


_COMMON: dict[str, Callable[..., Value]] = {
    name: Routine(function, name, hide_first=True)
    for name, function in (("permutation", _permutation), ("shuffle", _shuffle), ("choice", _choice))
}


_OLD_METHODS: dict[str, Callable[..., Value]] = {
    **{name: _distribution(name, text) for name, text in _OLD.items()},
    **_COMMON,
    "rand": _shaped("rand"),
    "randn": _shaped("randn"),
    "seed": Routine(_seed, "seed", hide_first=True),
    "ranf": _distribution("random_sample", _OLD["random"]),
    "sample": _distribution("random_sample", _OLD["random"]),
}
_NEW_METHODS: dict[str, Callable[..., Value]] = {**{name: _distribution(name, text) for name, text in _NEW.items()}, **_COMMON}
NumpyRandom.SCRIPT_METHODS = _OLD_METHODS
NumpyGenerator.SCRIPT_METHODS = _NEW_METHODS
register(NumpyRandom, NumpyGenerator)


def _fresh_seed(seed: Value) -> Any:
    """A seed for a new generator; without one the numbers follow the seed of the session."""
    if isinstance(seed, list | tuple):
        return plain(seed)
    return _seed_of(seed)


def default_rng(seed: Value = None) -> Value:
    """`np.random.default_rng(seed)`."""
    if isinstance(seed, NumpyGenerator):
        return seed
    return NumpyGenerator(run(np.random.default_rng, _fresh_seed(seed)))


def random_state(seed: Value = None) -> Value:
    """`np.random.RandomState(seed)`."""
    return NumpyRandom(run(np.random.RandomState, _fresh_seed(seed)))


def _of_session(name: str) -> Callable[..., Value]:
    def call(*args: Value, **kwargs: Value) -> Value:
        return _OLD_METHODS[name](NumpyRandom(session.random_state()), *args, **kwargs)

    return call


_FUNCTIONS: dict[str, Callable[..., Value]] = {
    **{name: _of_session(name) for name in _OLD_METHODS},
    "default_rng": default_rng,
    "RandomState": random_state,
}
#: the names of `np.random`
MEMBERS: dict[str, Value] = {name: Builtin(name, function, f"<function {name}>") for name, function in _FUNCTIONS.items()}
