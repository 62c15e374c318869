"""`AdaptiveLogSoftmaxWithLoss`: a softmax over many classes, whose rare classes share smaller maps in clusters."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from gradcli import limits
from gradcli.core.autograd.tensor_state import detach
from gradcli.core.calling.declared_arguments import REQUIRED
from gradcli.core.calling.named_tuples import named_tuple
from gradcli.core.functions import catalog
from gradcli.core.nn.modules.containers import ModuleList, Sequential
from gradcli.core.nn.modules.function_modules import FunctionModule
from gradcli.core.nn.modules.linear import Linear
from gradcli.core.tensor import dtypes
from gradcli.core.tensor.tensor import Tensor
from gradcli.errors import ProgramError, runtime_error, shape_error


def _fields(output: Any, loss: Any) -> tuple[Any, Any]:
    return output, loss


Output = named_tuple("torch.nn.modules.adaptive._ASMoutput", _fields, "output", "loss")
_CUTOFFS = (
    "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is between 1 and n_classes-1"
)


def _call(name: str, *args: Any) -> Any:
    return catalog.function(name)(*args)


def _rows(places: Any) -> Tensor:
    return Tensor(np.asarray(places, np.int64), dtypes.int64)


class AdaptiveLogSoftmaxWithLoss(FunctionModule, place="adaptive"):
    """Log probabilities of classes that are sorted by frequency; `cutoffs` are the numbers at which clusters begin."""

    ARGUMENTS = {
        "in_features": REQUIRED,
        "n_classes": REQUIRED,
        "cutoffs": REQUIRED,
        "div_value": 4.0,
        "head_bias": False,
        "device": None,
        "dtype": None,
    }
    METHODS = "log_prob predict reset_parameters"
    SCRIPT_ATTRIBUTES = FunctionModule.SCRIPT_ATTRIBUTES | {
        "head": lambda module: module.children_by_name["head"],
        "tail": lambda module: module.children_by_name["tail"],
        "shortlist_size": lambda module: module.cutoffs[0],
    }
    cutoffs: list[int]
    n_classes: int

    def reset_parameters(self) -> None:
        """Draw the parameters of the head and of the tail anew."""
        for _, module in self.walk():
            if isinstance(module, Linear):
                module.reset_parameters()

    def keep(self, given: dict[str, Any]) -> None:
        if isinstance(given["cutoffs"], range):
            limits.check_list(len(given["cutoffs"]))
        cutoffs, classes, features = list(given["cutoffs"]), given["n_classes"], given["in_features"]
        if not cutoffs:
            raise ProgramError("ValueError", "cutoffs should be a sequence of length larger than 0")
        numbers = all(type(c) in (int, float) for c in cutoffs)
        if (
            not numbers
            or sorted(set(cutoffs)) != cutoffs
            or cutoffs[0] <= 0
            or cutoffs[-1] > classes - 1
            or any(int(c) != c for c in cutoffs)
        ):
            raise ProgramError("ValueError", _CUTOFFS)
        super().keep(given | {"cutoffs": [*cutoffs, classes]})
        dtype = given["dtype"]
        self.children_by_name["head"] = Linear(features, cutoffs[0] + len(cutoffs), given["head_bias"], dtype=dtype)
        self.children_by_name["tail"] = tail = ModuleList()
        for i, (start, end) in enumerate(itertools.pairwise(self.cutoffs)):
            inner = int(features // (given["div_value"] ** (i + 1)))
            tail.append(Sequential(Linear(features, inner, False, dtype=dtype), Linear(inner, end - start, False, dtype=dtype)))

    def forward(self, input_: Any, target_: Any) -> Any:  # type: ignore[override]
        rank = target_.array.ndim
        if rank > 1:
            raise shape_error("0D or 1D target tensor expected, multi-target not supported")
        if rank == 1 and input_.array.shape[0] != target_.array.shape[0]:
            raise shape_error("Input and target should have the same size in the batch dimension.")
        if input_.array.ndim != rank + 1:
            found = f"expects {rank + 1}D input tensors, but found inputs with size {input_.shape!r}"
            raise shape_error(f"{rank}D target tensor {found}")
        if not rank:
            input_, target_ = _call("unsqueeze", input_, 0), _call("unsqueeze", target_, 0)
        output = self._scored(input_, target_.array)
        loss = _call("mean", -output)
        return Output((output if rank else _call("squeeze", output, 0), loss))

    def _scored(self, input: Tensor, target: Any) -> Any:
        """The log probability of the target of each row."""
        head: Any = self.children_by_name["head"]
        if ((target < 0) | (target >= self.n_classes)).any():
            raise runtime_error(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{target.min()}, {target.max()}] were found. "
            )
        output: Any = Tensor(np.zeros(len(target), input.array.dtype), input.dtype)
        places = target.copy()
        for i, (start, end) in enumerate(itertools.pairwise(self.cutoffs)):
            rows = np.flatnonzero((target >= start) & (target < end))
            if rows.size:
                places[rows] = self.cutoffs[0] + i
                scores = self._cluster(i, _call("index_select", input, 0, _rows(rows)))
                local = _call("gather", scores, 1, _rows(target[rows, None] - start))
                output = _call("index_copy", output, 0, _rows(rows), _call("squeeze", local, 1))
        chosen = _call("gather", _call("log_softmax", head(input), 1), 1, _rows(places[:, None]))
        return output + _call("squeeze", chosen, 1)

    def _cluster(self, number: int, input: Any) -> Any:
        return _call("log_softmax", list(self.children_by_name["tail"])[number](input), 1)

    def _all_scores(self, input: Any, head_output: Any) -> Any:
        scores = _call("log_softmax", head_output, 1)
        limits.check_elements(len(scores.array) * self.n_classes, scores.dtype.itemsize)
        first = self.cutoffs[0]
        made = Tensor(np.empty((len(scores.array), self.n_classes), scores.array.dtype), scores.dtype)
        write = catalog.method("copy_").method
        write(_call("narrow", made, 1, 0, first), (_call("narrow", scores, 1, 0, first),), {})
        for i, (start, end) in enumerate(itertools.pairwise(self.cutoffs)):
            cluster = self._cluster(i, input) + _call("narrow", scores, 1, first + i, 1)
            write(_call("narrow", made, 1, start, end - start), (cluster,), {})
        return made

    def log_prob(self, input: Any) -> Any:
        """The log probabilities of all classes, (N, n_classes)."""
        return self._all_scores(input, self.children_by_name["head"](input))

    def predict(self, input: Any) -> Any:
        """The class of the largest probability for each row; only rows whose best is a cluster are computed in full."""
        head = self.children_by_name["head"](input)
        best = _call("argmax", head, 1)
        rows = np.flatnonzero(best.array >= self.cutoffs[0])
        if rows.size:
            chosen = [_call("index_select", detach(one), 0, _rows(rows)) for one in (input, head)]
            best.array[rows] = _call("argmax", self._all_scores(*chosen), 1).array
        return best
