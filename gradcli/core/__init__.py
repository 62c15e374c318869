"""The numpy autograd core: tensors, graph, operations, generator, optimisers. Knows nothing of text, files or terminals.

Each wing of the core imports only wings below it. Where a lower wing needs something of an upper one, it declares a variable
for it, and this module fills it in, before any other module of the core is used.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from gradcli.core.functions import catalog
from gradcli.core.graph import namespaces, record
from gradcli.core.graph.op_node import OpNode
from gradcli.core.kernels import elementary
from gradcli.core.ops import operators
from gradcli.core.tensor.dtypes import DType
from gradcli.core.tensor.tensor import Tensor
from gradcli.core.tensor.tensor import provided as tensor_needs


def _load_family(name: str) -> tuple[Any, ...]:
    return import_module(f"gradcli.core.ops.{name}").FUNCTIONS  # type: ignore[no-any-return]


# Modules that few programs need are loaded on first use, so that a start stays fast.


def _refresh_view(view: Tensor) -> None:
    from gradcli.core.graph.in_place import refresh_view

    refresh_view(view)


def _to_dtype(value: Tensor, dtype: DType) -> Tensor:
    from gradcli.core.ops.shape.casting import to_dtype

    return to_dtype(value, dtype)


@cache
def _complex_node() -> type[OpNode]:
    from gradcli.core.graph.complex_node import ComplexNode

    return ComplexNode


@cache
def _lanes() -> Any:
    from gradcli.core.kernels.rounding import lanes

    return lanes


@cache
def _c_library() -> Any:
    from gradcli.core.kernels.rounding import c_library

    return c_library


@cache
def _complex_arithmetic() -> Any:
    from gradcli.core.kernels.rounding import complex_arithmetic

    return complex_arithmetic


elementary.provided.lanes = _lanes
elementary.provided.complex_arithmetic = _complex_arithmetic
elementary.provided.c_library = _c_library
tensor_needs.operators = operators.WITHIN_CORE
tensor_needs.refresh_view = _refresh_view
record.provided.complex_node = _complex_node
namespaces.provided.function = catalog.function
namespaces.provided.method = catalog.method
namespaces.provided.to_dtype = _to_dtype
catalog.provided.load_family = _load_family
