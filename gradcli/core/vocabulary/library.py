"""What `torch` holds besides tensor functions: where each name lives, loaded on first use.

`find("optim.SGD")` gives a dtype, number, Routine, ScriptType or Function; `members("optim")` the names below a place.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from gradcli.core.functions import catalog
from gradcli.core.functions._index import FUNCTIONS
from gradcli.core.tensor import dtypes
from gradcli.core.vocabulary._index import DECLARED

#: namespaces that scripts see as modules
MODULES: tuple[str, ...] = (
    "",
    "accelerator",
    "amp",
    "autograd",
    "autograd.anomaly_mode",
    "autograd.forward_ad",
    "autograd.function",
    "autograd.functional",
    "autograd.grad_mode",
    "autograd.graph",
    "autograd.variable",
    "backends",
    "backends.cudnn",
    "backends.mps",
    "cuda",
    "cuda.amp",
    "distributions",
    "distributions.constraints",
    "fft",
    "func",
    "linalg",
    "masked",
    "nn",
    "nn.functional",
    "nn.functional.grad",
    "nn.grad",
    "nn.init",
    "nn.parallel",
    "nn.parameter",
    "nn.utils",
    "nn.utils.parametrizations",
    "nn.utils.parametrize",
    "nn.utils.prune",
    "nn.utils.rnn",
    "nn.utils.fusion",
    "nn.utils.stateless",
    "optim",
    "optim.lr_scheduler",
    "optim.swa_utils",
    "overrides",
    "random",
    "signal",
    "signal.windows",
    "special",
    "testing",
    "utils",
    "utils.checkpoint",
    "utils.data",
    "utils.dlpack",
    *("utils.data.dataloader", "utils.data.dataset", "utils.data.sampler"),
)

_AUTOGRAD = "gradcli.core.autograd.torch_autograd"
_FORWARD = "gradcli.core.transforms.forward_ad"
_CUSTOM = "gradcli.core.autograd.custom_function"
_ANOMALY = "gradcli.core.autograd.anomaly"
_GRAD_MODE = "gradcli.core.autograd.grad_mode"
_EDGES = "gradcli.core.autograd.gradient_edge"
_SAVING = "gradcli.core.autograd.saved_tensor_hooks"
_SETTINGS = "gradcli.core.vocabulary.settings"
_SEEDS = "gradcli.core.random.seeds"
_FACTS = "gradcli.core.vocabulary.type_facts"
_HAS_TORCH_FUNCTION = [f"{place}.has_torch_function" for place in ("autograd", "nn.functional")]
_HAS_TORCH_FUNCTION += [f"{_HAS_TORCH_FUNCTION[1]}_{end}" for end in ("unary", "variadic")]
_HAS_TORCH_FUNCTION.append("overrides.has_torch_function")
_HANDLE_TORCH_FUNCTION = [f"{place}.handle_torch_function" for place in ("autograd", "nn.functional", "overrides")]
_FORKED = "gradcli.core.vocabulary.forked_random"
_MIXED = "gradcli.core.vocabulary.mixed_precision"
_TORCH_TYPES = "gradcli.core.vocabulary.torch_types"
_FUNCTIONAL = "gradcli.core.transforms.autograd_functional"
_FUNC = "gradcli.core.transforms.torch_func"
_FUNC_JACOBIANS = "gradcli.core.transforms.func_jacobians"
_VMAP = "gradcli.core.transforms.vmap"
_GRADCHECK = "gradcli.core.transforms.gradcheck"

#: name -> (module, attribute)
PLACES: dict[str, tuple[str, str]] = {
    "autograd.backward": (_AUTOGRAD, "BACKWARD"),
    "autograd.grad": (_AUTOGRAD, "GRAD"),
    "autograd.Function": (_CUSTOM, "FUNCTION"),
    "autograd.function.Function": (_CUSTOM, "FUNCTION"),
    "autograd.function.once_differentiable": ("gradcli.core.autograd.once_differentiable", "ONCE_DIFFERENTIABLE"),
    "autograd.functional.jacobian": (_FUNCTIONAL, "JACOBIAN"),
    "autograd.functional.hessian": (_FUNCTIONAL, "HESSIAN"),
    "autograd.functional.vjp": (_FUNCTIONAL, "VJP"),
    "autograd.functional.jvp": (_FUNCTIONAL, "JVP"),
    "autograd.functional.hvp": (_FUNCTIONAL, "HVP"),
    "autograd.functional.vhp": (_FUNCTIONAL, "VHP"),
    "autograd.gradcheck": (_GRADCHECK, "GRADCHECK"),
    "testing.assert_close": ("gradcli.core.transforms.assert_close", "ASSERT_CLOSE"),
    "autograd.gradgradcheck": (_GRADCHECK, "GRADGRADCHECK"),
    "func.grad": (_FUNC, "GRAD"),
    "func.grad_and_value": (_FUNC, "GRAD_AND_VALUE"),
    "func.vjp": (_FUNC, "VJP"),
    "func.jvp": (_FUNC, "JVP"),
    "func.jacrev": (_FUNC_JACOBIANS, "JACREV"),
    "func.jacfwd": (_FUNC_JACOBIANS, "JACFWD"),
    "func.hessian": (_FUNC_JACOBIANS, "HESSIAN"),
    "func.vmap": (_VMAP, "VMAP"),
    "func.linearize": (_FUNC, "LINEARIZE"),
    "func.functionalize": (_FUNC, "FUNCTIONALIZE"),
    "vmap": (_VMAP, "VMAP"),
    "autograd.set_detect_anomaly": (_ANOMALY, "SET_DETECT_ANOMALY"),
    "autograd.detect_anomaly": (_ANOMALY, "DETECT_ANOMALY"),
    "autograd.anomaly_mode.set_detect_anomaly": (_ANOMALY, "SET_DETECT_ANOMALY"),
    "autograd.anomaly_mode.detect_anomaly": (_ANOMALY, "DETECT_ANOMALY"),
    "set_anomaly_enabled": (_ANOMALY, "SET_ANOMALY_ENABLED"),
    "autograd.set_multithreading_enabled": (_GRAD_MODE, "SET_MULTITHREADING_ENABLED"),
    "autograd.grad_mode.set_multithreading_enabled": (_GRAD_MODE, "SET_MULTITHREADING_ENABLED"),
    "autograd.enforce_grad_layout_policy": (_GRAD_MODE, "ENFORCE_GRAD_LAYOUT_POLICY"),
    "autograd.grad_mode.enforce_grad_layout_policy": (_GRAD_MODE, "ENFORCE_GRAD_LAYOUT_POLICY"),
    "autograd.is_multithreading_enabled": (_GRAD_MODE, "IS_MULTITHREADING_ENABLED"),
    "autograd.is_view_replay_enabled": (_GRAD_MODE, "IS_VIEW_REPLAY_ENABLED"),
    "no_grad": (_GRAD_MODE, "NO_GRAD"),
    "enable_grad": (_GRAD_MODE, "ENABLE_GRAD"),
    "inference_mode": (_GRAD_MODE, "INFERENCE_MODE"),
    "set_grad_enabled": (_GRAD_MODE, "SET_GRAD_ENABLED"),
    "is_grad_enabled": (_GRAD_MODE, "IS_GRAD_ENABLED"),
    "is_anomaly_enabled": (_ANOMALY, "IS_ANOMALY_ENABLED"),
    "is_anomaly_check_nan_enabled": (_ANOMALY, "IS_ANOMALY_CHECK_NAN_ENABLED"),
    "is_inference_mode_enabled": (_GRAD_MODE, "IS_INFERENCE_MODE_ENABLED"),
    "autograd.no_grad": (_GRAD_MODE, "NO_GRAD"),
    "autograd.enable_grad": (_GRAD_MODE, "ENABLE_GRAD"),
    "autograd.set_grad_enabled": (_GRAD_MODE, "SET_GRAD_ENABLED"),
    "autograd.inference_mode": (_GRAD_MODE, "INFERENCE_MODE"),
    "autograd.grad_mode.no_grad": (_GRAD_MODE, "NO_GRAD"),
    "autograd.grad_mode.enable_grad": (_GRAD_MODE, "ENABLE_GRAD"),
    "autograd.grad_mode.set_grad_enabled": (_GRAD_MODE, "SET_GRAD_ENABLED"),
    "autograd.grad_mode.inference_mode": (_GRAD_MODE, "INFERENCE_MODE"),
    "autograd.graph.register_multi_grad_hook": ("gradcli.core.autograd.hooks", "REGISTER_MULTI_GRAD_HOOK"),
    "autograd.graph.saved_tensors_hooks": (_SAVING, "SAVED_TENSORS_HOOKS"),
    "autograd.graph.save_on_cpu": (_SAVING, "SAVE_ON_CPU"),
    "autograd.graph.disable_saved_tensors_hooks": (_SAVING, "DISABLE_SAVED_TENSORS_HOOKS"),
    "autograd.graph.allow_mutation_on_saved_tensors": (_SAVING, "ALLOW_MUTATION_ON_SAVED_TENSORS"),
    "autograd.forward_ad.dual_level": (_FORWARD, "DUAL_LEVEL"),
    "autograd.forward_ad.enter_dual_level": (_FORWARD, "ENTER_DUAL_LEVEL"),
    "autograd.forward_ad.exit_dual_level": (_FORWARD, "EXIT_DUAL_LEVEL"),
    "autograd.forward_ad.make_dual": (_FORWARD, "MAKE_DUAL"),
    "autograd.forward_ad.unpack_dual": (_FORWARD, "UNPACK_DUAL"),
    "autograd.forward_ad.UnpackedDualTensor": (_FORWARD, "UNPACKED_DUAL_TENSOR"),
    "autograd.graph.Node": (_EDGES, "NODE"),
    "autograd.graph.GradientEdge": (_EDGES, "GRADIENT_EDGE"),
    "autograd.graph.get_gradient_edge": (_EDGES, "GET_GRADIENT_EDGE"),
    "autograd.graph.region_activation_memory_budget": (_EDGES, "REGION_ACTIVATION_MEMORY_BUDGET"),
    "autograd.graph.increment_version": (_EDGES, "INCREMENT_VERSION"),
    "accelerator.is_available": (_TORCH_TYPES, "NOT_AVAILABLE"),
    "accelerator.device_count": (_TORCH_TYPES, "DEVICE_COUNT"),
    "accelerator.current_accelerator": (_TORCH_TYPES, "CURRENT_ACCELERATOR"),
    "cuda.is_available": (_TORCH_TYPES, "NOT_AVAILABLE"),
    "cuda.device_count": (_TORCH_TYPES, "DEVICE_COUNT"),
    "cuda.manual_seed": (_TORCH_TYPES, "SEED_NOTHING"),
    "cuda.manual_seed_all": (_TORCH_TYPES, "SEED_NOTHING"),
    "cuda.empty_cache": (_TORCH_TYPES, "EMPTY_CACHE"),
    "cuda.is_initialized": (_TORCH_TYPES, "IS_INITIALIZED"),
    "cuda.memory_allocated": (_TORCH_TYPES, "MEMORY_ALLOCATED"),
    "cuda.max_memory_allocated": (_TORCH_TYPES, "MAX_MEMORY_ALLOCATED"),
    "cuda.memory_reserved": (_TORCH_TYPES, "MEMORY_RESERVED"),
    "cuda.synchronize": (_TORCH_TYPES, "SYNCHRONIZE"),
    "cuda.current_device": (_TORCH_TYPES, "CURRENT_DEVICE"),
    "cuda.get_device_name": (_TORCH_TYPES, "GET_DEVICE_NAME"),
    "cuda.get_device_properties": (_TORCH_TYPES, "GET_DEVICE_PROPERTIES"),
    "cuda.get_device_capability": (_TORCH_TYPES, "GET_DEVICE_CAPABILITY"),
    **dict.fromkeys(("autocast", "amp.autocast"), (_MIXED, "AUTOCAST")),
    **dict.fromkeys(("amp.GradScaler", "GradScaler"), (_MIXED, "GRAD_SCALER")),
    "cuda.amp.autocast": (_MIXED, "CUDA_AUTOCAST"),
    "cuda.amp.GradScaler": (_MIXED, "CUDA_GRAD_SCALER"),
    "backends.mps.is_available": (_TORCH_TYPES, "NOT_AVAILABLE"),
    "backends.mps.is_built": (_TORCH_TYPES, "NOT_AVAILABLE"),
    "manual_seed": (_SEEDS, "MANUAL_SEED"),
    "seed": (_SEEDS, "SEED"),
    "initial_seed": (_SEEDS, "INITIAL_SEED"),
    "get_rng_state": (_SEEDS, "GET_RNG_STATE"),
    "set_rng_state": (_SEEDS, "SET_RNG_STATE"),
    "random.fork_rng": (_FORKED, "FORK_RNG"),
    "random.seed": (_SEEDS, "SEED"),
    "random.default_generator": (_SEEDS, "DEFAULT_GENERATOR"),
    "random.manual_seed": (_SEEDS, "MANUAL_SEED"),
    "random.initial_seed": (_SEEDS, "INITIAL_SEED"),
    "random.get_rng_state": (_SEEDS, "GET_RNG_STATE"),
    "random.set_rng_state": (_SEEDS, "SET_RNG_STATE"),
    "Generator": (_SEEDS, "GENERATOR"),
    "default_generator": (_SEEDS, "DEFAULT_GENERATOR"),
    "get_default_dtype": (_SETTINGS, "GET_DEFAULT_DTYPE"),
    "set_default_dtype": (_SETTINGS, "SET_DEFAULT_DTYPE"),
    "set_printoptions": (_SETTINGS, "SET_PRINTOPTIONS"),
    "promote_types": (_SETTINGS, "PROMOTE_TYPES"),
    "result_type": (_SETTINGS, "RESULT_TYPE"),
    "can_cast": (_SETTINGS, "CAN_CAST"),
    "is_tensor": (_SETTINGS, "IS_TENSOR"),
    "is_storage": (_FACTS, "IS_STORAGE"),
    "get_default_device": (_FACTS, "GET_DEFAULT_DEVICE"),
    "set_default_device": (_FACTS, "SET_DEFAULT_DEVICE"),
    "set_float32_matmul_precision": (_FACTS, "SET_FLOAT32_MATMUL_PRECISION"),
    "are_deterministic_algorithms_enabled": (_FACTS, "ARE_DETERMINISTIC_ALGORITHMS_ENABLED"),
    "backends.cudnn.is_available": (_TORCH_TYPES, "NOT_AVAILABLE"),
    "backends.cudnn.deterministic": (_TORCH_TYPES, "OFF"),
    "backends.cudnn.benchmark": (_TORCH_TYPES, "OFF"),
    "typename": (_FACTS, "TYPENAME"),
    "set_default_tensor_type": (_FACTS, "SET_DEFAULT_TENSOR_TYPE"),
    "thread_safe_generator": (_FACTS, "THREAD_SAFE_GENERATOR"),
    "random.thread_safe_generator": (_FACTS, "THREAD_SAFE_GENERATOR"),
    "autograd.is_tensor_like": (_FACTS, "IS_TENSOR_LIKE"),
    "overrides.is_tensor_like": (_FACTS, "IS_TENSOR_LIKE"),
    "func.rearrange": (_FACTS, "REARRANGE"),
    **dict.fromkeys(_HAS_TORCH_FUNCTION, (_FACTS, "HAS_TORCH_FUNCTION")),
    **dict.fromkeys(_HANDLE_TORCH_FUNCTION, (_FACTS, "HANDLE_TORCH_FUNCTION")),
    "set_flush_denormal": (_SETTINGS, "SET_FLUSH_DENORMAL"),
    "set_num_threads": (_SETTINGS, "SET_NUM_THREADS"),
    "get_num_threads": (_SETTINGS, "GET_NUM_THREADS"),
    "use_deterministic_algorithms": (_SETTINGS, "USE_DETERMINISTIC_ALGORITHMS"),
    "nn.init._calculate_fan_in_and_fan_out": ("gradcli.core.nn.init", "_FANS"),
    **{
        f"nn.functional.grad.{name}": ("gradcli.core.nn.grad", name)
        for name in ("conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight")
    },
    "nn.utils.stateless.functional_call": ("gradcli.core.nn.functional_call", "_STATELESS"),
    "nn.utils.rnn.PackedSequence": ("gradcli.core.nn.recurrent.packing", "PACKED_SEQUENCE"),
    "device": (_TORCH_TYPES, "DEVICE"),
    "finfo": (_TORCH_TYPES, "FINFO"),
    "iinfo": (_TORCH_TYPES, "IINFO"),
    "Tensor": (_TORCH_TYPES, "TENSOR"),
    "FloatTensor": (_TORCH_TYPES, "FLOAT_TENSOR"),
    "DoubleTensor": (_TORCH_TYPES, "DOUBLE_TENSOR"),
    "LongTensor": (_TORCH_TYPES, "LONG_TENSOR"),
    "IntTensor": (_TORCH_TYPES, "INT_TENSOR"),
    "ShortTensor": (_TORCH_TYPES, "SHORT_TENSOR"),
    "CharTensor": (_TORCH_TYPES, "CHAR_TENSOR"),
    "ByteTensor": (_TORCH_TYPES, "BYTE_TENSOR"),
    "HalfTensor": (_TORCH_TYPES, "HALF_TENSOR"),
    "BFloat16Tensor": (_TORCH_TYPES, "BFLOAT16_TENSOR"),
    "BoolTensor": (_TORCH_TYPES, "BOOL_TENSOR"),
    "Size": (_TORCH_TYPES, "SIZE"),
    "dtype": (_TORCH_TYPES, "DTYPE"),
    "strided": (_TORCH_TYPES, "STRIDED"),
    "contiguous_format": (_TORCH_TYPES, "CONTIGUOUS_FORMAT"),
    "preserve_format": (_TORCH_TYPES, "PRESERVE_FORMAT"),
    "channels_last": (_TORCH_TYPES, "CHANNELS_LAST"),
    "channels_last_3d": (_TORCH_TYPES, "CHANNELS_LAST_3D"),
    "autograd.Variable": (_TORCH_TYPES, "VARIABLE"),
    "autograd.variable.Variable": (_TORCH_TYPES, "VARIABLE"),
}

MODULES += tuple(sorted({place for place in (name.rpartition(".")[0] for name in DECLARED) if place.startswith("distributions.")}))

# classes and functions of nn, optim, distributions and utils.data stand under their own names
PLACES |= {name: (f"gradcli.core.{module}", name.rpartition(".")[2]) for name, module in DECLARED.items()}
MODULES += ("distributions.kl",)
PLACES["distributions.kl.kl_divergence"] = PLACES["distributions.kl_divergence"]
#: further names of what is declared
_SECOND_NAMES = {"optim.lr_scheduler._LRScheduler": "optim.lr_scheduler.LRScheduler"}
_SECOND_NAMES |= {f"nn.utils.fusion.{_name.rpartition('.')[2]}": _name for _name in DECLARED if _name.startswith("nn.utils.fuse_")}
for _name in [name for name in DECLARED if name.startswith("utils.data.")]:
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
    )
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

_NUMBERS = {"pi": 3.141592653589793, "e": 2.718281828459045, "inf": float("inf"), "nan": float("nan")}


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
    names = {*FUNCTIONS, *PLACES, *MODULES}
    if not module:
        names |= {*_NUMBERS, *dtypes.NAMED}
    found = {n[len(prefix) :].split(".")[0] for n in names if n.startswith(prefix) and n != module and n}
    return sorted(found)
