"""What `torch` holds besides tensor functions: where each name lives, loaded on first use.

`find("optim.SGD")` gives a dtype, number, Routine, ScriptType or Function; `members("optim")` the names below a place.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

from gradcli.core.functions import catalog
from gradcli.core.functions._index import FUNCTIONS
from gradcli.core.tensor import dtypes
from gradcli.core.vocabulary._index import DECLARED, NAMES_OF

#: namespaces that scripts see as modules
MODULES: tuple[str, ...] = (
    "",
    *("accelerator", "amp", "autograd", "autograd.anomaly_mode", "autograd.forward_ad", "autograd.function", "autograd.functional"),
    *("autograd.grad_mode", "autograd.graph", "autograd.variable", "backends", "backends.cudnn", "backends.mps", "cuda", "cuda.amp"),
    *("distributions", "fft", "func", "linalg", "masked", "nn", "nn.functional", "nn.functional.grad", "nn.grad", "nn.init"),
    *("nn.parallel", "nn.parameter", "nn.utils", "nn.utils.parametrizations", "nn.utils.parametrize", "nn.utils.prune"),
    *("nn.utils.rnn", "nn.utils.fusion", "nn.utils.stateless", "optim", "optim.lr_scheduler", "optim.swa_utils", "overrides"),
    *("random", "signal", "signal.windows", "special", "testing", "utils", "utils.checkpoint", "utils.data", "utils.dlpack"),
    *("utils.data.dataloader", "utils.data.dataset", "utils.data.sampler", "version"),
)

#: the modules below gradcli.core that have routines and types as constants: `NO_GRAD` is that of `no_grad`
_CONSTANTS = {
    "autograd.torch_autograd": "autograd.backward autograd.grad",
    "autograd.custom_function": (
        "autograd.Function autograd.function.Function autograd.function.FunctionCtx autograd.function.BackwardCFunction"
    ),
    "autograd.once_differentiable": "autograd.function.once_differentiable",
    "transforms.autograd_functional": (
        "autograd.functional.jacobian autograd.functional.hessian autograd.functional.vjp autograd.functional.jvp "
        "autograd.functional.hvp autograd.functional.vhp"
    ),
    "transforms.gradcheck": "autograd.gradcheck autograd.gradgradcheck",
    "transforms.assert_close": "testing.assert_close",
    "transforms.torch_func": "func.grad func.grad_and_value func.vjp func.jvp func.linearize func.functionalize",
    "transforms.func_jacobians": "func.jacrev func.jacfwd func.hessian",
    "transforms.vmap": "func.vmap vmap",
    "autograd.anomaly": (
        "autograd.set_detect_anomaly autograd.detect_anomaly autograd.anomaly_mode.set_detect_anomaly "
        "autograd.anomaly_mode.detect_anomaly set_anomaly_enabled is_anomaly_enabled is_anomaly_check_nan_enabled"
    ),
    "autograd.grad_mode": (
        "autograd.set_multithreading_enabled autograd.grad_mode.set_multithreading_enabled autograd.enforce_grad_layout_policy "
        "autograd.grad_mode.enforce_grad_layout_policy autograd.is_multithreading_enabled autograd.is_view_replay_enabled no_grad "
        "enable_grad inference_mode set_grad_enabled is_grad_enabled is_inference_mode_enabled autograd.no_grad autograd.enable_grad "
        "autograd.set_grad_enabled autograd.inference_mode autograd.grad_mode.no_grad autograd.grad_mode.enable_grad "
        "autograd.grad_mode.set_grad_enabled autograd.grad_mode.inference_mode"
    ),
    "autograd.hooks": "autograd.graph.register_multi_grad_hook",
    "autograd.saved_tensor_hooks": (
        "autograd.graph.saved_tensors_hooks autograd.graph.save_on_cpu autograd.graph.disable_saved_tensors_hooks "
        "autograd.graph.allow_mutation_on_saved_tensors"
    ),
    "transforms.forward_ad": (
        "autograd.forward_ad.dual_level autograd.forward_ad.enter_dual_level autograd.forward_ad.exit_dual_level "
        "autograd.forward_ad.make_dual autograd.forward_ad.unpack_dual autograd.forward_ad.UnpackedDualTensor"
    ),
    "autograd.gradient_edge": (
        "autograd.graph.Node autograd.graph.GradientEdge autograd.graph.get_gradient_edge "
        "autograd.graph.region_activation_memory_budget autograd.graph.increment_version"
    ),
    "vocabulary.mixed_precision": "autocast amp.autocast amp.GradScaler GradScaler cuda.amp.autocast cuda.amp.GradScaler",
    "random.seeds": (
        "manual_seed seed initial_seed get_rng_state set_rng_state random.seed random.default_generator random.manual_seed "
        "random.initial_seed random.get_rng_state random.set_rng_state Generator default_generator"
    ),
    "vocabulary.forked_random": "random.fork_rng",
    "vocabulary.settings": "get_default_dtype set_default_dtype set_printoptions is_tensor",
    "vocabulary.computing": (
        "set_num_threads get_num_threads set_num_interop_threads get_num_interop_threads use_deterministic_algorithms "
        "are_deterministic_algorithms_enabled is_deterministic_algorithms_warn_only_enabled set_deterministic_debug_mode "
        "get_deterministic_debug_mode set_flush_denormal set_float32_matmul_precision get_float32_matmul_precision is_autocast_enabled "
        "get_autocast_dtype set_warn_always is_warn_always_enabled is_autocast_cpu_enabled is_autocast_cache_enabled "
        "get_autocast_gpu_dtype get_autocast_cpu_dtype compiled_with_cxx11_abi is_vulkan_available"
    ),
    "vocabulary.type_promotion": "promote_types result_type can_cast",
    "vocabulary.plain_numbers": "sym_max sym_min sym_not sym_int sym_float sym_sqrt sym_sum sym_ite",
    "vocabulary.type_facts": (
        "is_storage get_default_device set_default_device typename "
        "set_default_tensor_type thread_safe_generator random.thread_safe_generator autograd.is_tensor_like overrides.is_tensor_like "
        "func.rearrange autograd.has_torch_function nn.functional.has_torch_function nn.functional.has_torch_function_unary "
        "nn.functional.has_torch_function_variadic overrides.has_torch_function autograd.handle_torch_function "
        "nn.functional.handle_torch_function overrides.handle_torch_function"
    ),
    "nn.init": "nn.init._calculate_fan_in_and_fan_out",
    "nn.functional_call": "nn.utils.stateless.functional_call",
    "nn.recurrent.packing": "nn.utils.rnn.PackedSequence",
    "vocabulary.torch_types": (
        "accelerator.is_available accelerator.device_count accelerator.current_accelerator cuda.is_available cuda.device_count "
        "cuda.manual_seed cuda.manual_seed_all cuda.empty_cache cuda.is_initialized cuda.memory_allocated cuda.max_memory_allocated "
        "cuda.memory_reserved cuda.synchronize cuda.current_device cuda.get_device_name cuda.get_device_properties "
        "cuda.get_device_capability backends.mps.is_available backends.mps.is_built backends.cudnn.is_available "
        "backends.cudnn.deterministic backends.cudnn.benchmark device finfo iinfo Tensor FloatTensor DoubleTensor LongTensor IntTensor "
        "ShortTensor CharTensor ByteTensor HalfTensor BFloat16Tensor "
        "BoolTensor Size dtype layout memory_format strided contiguous_format preserve_format channels_last channels_last_3d "
        "autograd.Variable autograd.variable.Variable"
    ),
}
#: the names whose constants are called otherwise
_OTHER_CONSTANTS = {
    "NOT_AVAILABLE": (
        "accelerator.is_available cuda.is_available backends.mps.is_available backends.mps.is_built backends.cudnn.is_available"
    ),
    "BACKWARD_FUNCTION": "autograd.function.BackwardCFunction",
    "BFLOAT16_TENSOR": "BFloat16Tensor",
    "SEED_NOTHING": "cuda.manual_seed cuda.manual_seed_all",
    "CUDA_AUTOCAST": "cuda.amp.autocast",
    "CUDA_GRAD_SCALER": "cuda.amp.GradScaler",
    "OFF": "backends.cudnn.deterministic backends.cudnn.benchmark",
    "HAS_TORCH_FUNCTION": "nn.functional.has_torch_function_unary nn.functional.has_torch_function_variadic",
    "_FANS": "nn.init._calculate_fan_in_and_fan_out",
    "_STATELESS": "nn.utils.stateless.functional_call",
}


def _constant(name: str) -> str:
    """The constant that holds what `torch.NAME` is: the name's last word, `GRAD_SCALER` for `amp.GradScaler`."""
    last = name.rpartition(".")[2]
    return last.upper() if last.islower() else re.sub(r"(?<=[a-z])(?=[A-Z])", "_", last).upper()


#: name -> (module, attribute)
PLACES: dict[str, tuple[str, str]] = {
    name: (f"gradcli.core.{module}", _constant(name)) for module, names in _CONSTANTS.items() for name in names.split()
}
PLACES |= {name: (PLACES[name][0], constant) for constant, names in _OTHER_CONSTANTS.items() for name in names.split()}


def _declared(start: str) -> list[str]:
    """The names that the modules declare whose own names begin so."""
    return [name for module, names in NAMES_OF.items() if module.startswith(start) for name in names.split()]


MODULES += tuple(sorted({name.rpartition(".")[0] for name in _declared("distributions.")} - {"distributions"}))

# classes and functions of nn, optim, distributions and utils.data stand under their own names
PLACES |= {name: (f"gradcli.core.{module}", name.rpartition(".")[2]) for name, module in sorted(DECLARED.items())}
MODULES += ("distributions.kl",)
PLACES["distributions.kl.kl_divergence"] = PLACES["distributions.kl_divergence"]
#: further names of what is declared
_SECOND_NAMES = {f"nn.utils.fusion.{_name.rpartition('.')[2]}": _name for _name in _declared("nn.utils.fusion")}
_SECOND_NAMES |= {f"nn.functional.{_name[3:]}": _name for _name in _declared("nn.grad")}
for _name in _declared("data."):
    _last = "sampler" if _name.endswith("Sampler") else "dataset" if PLACES[_name][0].endswith("datasets") else "dataloader"
    _SECOND_NAMES[f"utils.data.{_last}.{_name.rpartition('.')[2]}"] = _name
PLACES |= {name: PLACES[declared] for name, declared in _SECOND_NAMES.items()}
#: PyTorch's modules of single classes, each with the module that has the classes of all of them
_SINGLE = {
    **dict.fromkeys(("activation", "adaptive", "batchnorm", "channelshuffle", "container", "conv", "distance", "dropout"), "nn.modules"),
    **dict.fromkeys(("flatten", "fold", "instancenorm", "linear", "loss", "module", "normalization", "padding"), "nn.modules"),
    **dict.fromkeys(("pixelshuffle", "pooling", "rnn", "sparse", "transformer", "upsampling"), "nn.modules"),
    **dict.fromkeys(("adadelta", "adagrad", "adam", "adamax", "adamw", "asgd", "lbfgs", "nadam", "optimizer"), "optim"),
    **dict.fromkeys(("radam", "rmsprop", "rprop", "sgd", "sparse_adam", "_adafactor", "_muon"), "optim"),
    "data_parallel": "nn.parallel",
}
_USUAL = {"nn.modules": "nn"} | {f"{above}.{name}": above.partition(".")[0] for name, above in _SINGLE.items()}
MODULES += tuple(_USUAL)
_CONSTRAINTS = "gradcli.core.distributions.constraints"
PLACES |= {
    f"distributions.constraints.{name}": (_CONSTRAINTS, name)
    for name in (
        *("real", "real_vector", "boolean", "one_hot", "nonnegative_integer", "positive_integer", "positive", "nonnegative"),
        *("unit_interval", "simplex", "lower_triangular", "lower_cholesky", "corr_cholesky", "square", "symmetric", "positive_definite"),
        "positive_semidefinite",
    )
}
PLACES |= {
    f"distributions.{name}": ("gradcli.core.distributions.composed_transforms", "identity_transform")
    for name in ("identity_transform", "transforms.identity_transform")
}

#: functions that stand in tables, by name
_MASKED = (
    *("amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean", "median", "norm"),
    *("normalize", "prod", "softmax", "softmin", "std", "sum", "var"),
)
_WINDOWS = (
    *("bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann", "kaiser"),
    "nuttall",
)
_REMOVED = ("eig", "lstsq", "matrix_rank", "solve", "symeig")
PLACES |= {f"masked.{name}": ("gradcli.core.ops.masked.reductions", name) for name in _MASKED}
PLACES |= {f"signal.windows.{name}": ("gradcli.core.ops.create.signal_windows", name) for name in _WINDOWS}
PLACES |= {name: ("gradcli.core.ops.linalg.removed", name) for name in _REMOVED}
PLACES |= {name: ("gradcli.core.ops.linalg.low_rank", name) for name in ("pca_lowrank", "svd_lowrank")}

_NUMBERS = {
    "pi": 3.141592653589793,
    "e": 2.718281828459045,
    "inf": float("inf"),
    "nan": float("nan"),
    **dict.fromkeys(("has_lapack", "has_mkl", "has_openmp", "has_spectral"), True),
    "distributions.utils.euler_constant": 0.5772156649015329,
}


def find(name: str) -> Any:
    """The value of `torch.NAME`; None if there is none (or it is a module)."""
    if name in FUNCTIONS:
        return catalog.function(name)
    place = PLACES.get(name)
    if place is not None:
        module = import_module(place[0])
        if name in DECLARED or name in _SECOND_NAMES:
            return _script_value(module, place[1])
        return module.ROUTINES[place[1]] if hasattr(module, "ROUTINES") else getattr(module, place[1])
    if name in _NUMBERS:
        return _NUMBERS[name]
    return dtypes.NAMED.get(name) or _of_single(name)


def _of_single(name: str) -> Any:
    """A class by the module that PyTorch defines it in, such as `nn.modules.linear.Linear`."""
    place, _, last = name.rpartition(".")
    usual = f"{_USUAL.get(place)}.{last}"
    found = find(usual) if usual in DECLARED else None
    return found if place == "nn.modules" or getattr(found, "module", None) == f"torch.{place}" else None


def has_private(name: str) -> bool:
    """Whether `find` finds a name with a leading underscore: the base classes of modules stand in their own modules alone."""
    place, _, last = name.rpartition(".")
    return f"{_USUAL.get(place)}.{last}" in DECLARED or (place != "nn" and has(name))


def has(name: str) -> bool:
    """Whether `find` finds `torch.NAME`. Loads nothing."""
    return name in FUNCTIONS or name in PLACES or name in _NUMBERS or name in dtypes.NAMED


def _script_value(module: Any, name: str) -> Any:
    """A routine, or the type of a class, which may be one of the rows that a module has in CLASSES."""
    found = getattr(module, name, None)
    if found is None:
        found = module.CLASSES[name]
    return getattr(found, "SCRIPT_TYPE", found)


def members(module: str) -> list[str]:
    """The names directly below a module, submodules included, sorted."""
    prefix = f"{module}." if module else ""
    names = {*FUNCTIONS, *PLACES, *MODULES, *_NUMBERS}
    if not module:
        names |= {*dtypes.NAMED}
    found = {n[len(prefix) :].split(".")[0] for n in names if n.startswith(prefix) and n != module and n}
    return sorted(found)
