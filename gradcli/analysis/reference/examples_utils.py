"""Examples for torch.nn.utils, lazy layers, averaged models, storages and settings, in the manner of examples.py."""

from __future__ import annotations

_SEED = "g = manual_seed(0)"
_LINEAR = "m = nn.Linear(2, 2)"
_W = "w = tensor([3., 4.], requires_grad=True)"
_ROW = "x = arange(6.).reshape(1, 1, 6)"
_IMAGE = "x = arange(16.).reshape(1, 1, 4, 4)"
_VOLUME = "x = arange(64.).reshape(1, 1, 4, 4, 4)"
_INPUTS = {"1d": _ROW, "2d": _IMAGE, "3d": _VOLUME}
_DOUBLED = "class Doubled(nn.Module):\n    def forward(self, x):\n        return 2 * x"
_P = "torch.nn.utils.parametrize"
_D = "torch.distributions"

_POOLING = {
    "nn.functional.fractional_max_pool2d_with_indices": (
        _IMAGE,
        "F.fractional_max_pool2d_with_indices(x, 2, output_size=2, _random_samples=zeros(1, 1, 2))",
    ),
    "nn.functional.fractional_max_pool3d_with_indices": (
        _VOLUME,
        "F.fractional_max_pool3d_with_indices(x, 2, output_size=2, _random_samples=zeros(1, 1, 3))",
    ),
    "nn.FractionalMaxPool2d": (_SEED, _IMAGE, "nn.FractionalMaxPool2d(2, output_size=2)(x)"),
    "nn.FractionalMaxPool3d": (_SEED, _VOLUME, "nn.FractionalMaxPool3d(2, output_size=2)(x).shape"),
    **{
        f"nn.MaxUnpool{size}": (given, f"y, i = nn.MaxPool{size}(2, return_indices=True)(x)", f"nn.MaxUnpool{size}(2)(y, i)")
        for size, given in _INPUTS.items()
    },
}

_LAZY = {
    "nn.LazyLinear": (_SEED, "nn.LazyLinear(2)(ones(1, 3))"),
    **{
        f"nn.Lazy{name}{size}": (_SEED, given, f"nn.Lazy{name}{size}({arguments})(x).shape")
        for name, arguments in (("Conv", "1, 2"), ("ConvTranspose", "1, 2"), ("BatchNorm", ""), ("InstanceNorm", ""))
        for size, given in _INPUTS.items()
    },
    "nn.UninitializedParameter": ("nn.LazyLinear(2).weight",),
    "nn.UninitializedBuffer": ("nn.LazyBatchNorm1d().running_mean",),
}

_LOSSES = {
    "nn.AdaptiveLogSoftmaxWithLoss": (_SEED, "nn.AdaptiveLogSoftmaxWithLoss(2, 4, [2])(ones(1, 2), tensor([3])).loss"),
    "nn.CTCLoss": ("x = zeros(3, 1, 2).log_softmax(2)", "nn.CTCLoss()(x, tensor([[1]]), tensor([3]), tensor([1]))"),
    "nn.LinearCrossEntropyLoss": (_SEED, "nn.LinearCrossEntropyLoss(2, 3)(ones(1, 2), tensor([0]))"),
}

_PRUNED = {
    "BasePruningMethod": ("P.BasePruningMethod",),
    "PruningContainer": ("len(P.PruningContainer())",),
    "Identity": ("m = nn.Linear(2, 2)", "P.Identity.apply(m, 'weight').PRUNING_TYPE"),
    "RandomUnstructured": (_SEED, "P.RandomUnstructured(0.5).prune(ones(4))"),
    "L1Unstructured": ("P.L1Unstructured(1).prune(tensor([2., -1., 3.]))",),
    "RandomStructured": (_SEED, "P.RandomStructured(1, dim=0).prune(ones(3, 2))"),
    "LnStructured": ("P.LnStructured(1, n=2, dim=0).prune(tensor([[3., 4.], [1., 1.]]))",),
    "CustomFromMask": ("P.CustomFromMask(tensor([1., 0.])).prune(tensor([3., 4.]))",),
    "identity": (_SEED, _LINEAR, "P.identity(m, 'weight').weight_mask"),
    "random_unstructured": (_SEED, _LINEAR, "P.random_unstructured(m, 'weight', 0.5).weight"),
    "l1_unstructured": (_SEED, _LINEAR, "P.l1_unstructured(m, 'weight', amount=2).weight"),
    "random_structured": (_SEED, _LINEAR, "P.random_structured(m, 'weight', 1, dim=0).weight"),
    "ln_structured": (_SEED, _LINEAR, "P.ln_structured(m, 'weight', 1, n=2, dim=0).weight"),
    "custom_from_mask": (_SEED, _LINEAR, "P.custom_from_mask(m, 'bias', mask=tensor([0., 1.])).bias"),
    "global_unstructured": (
        _SEED,
        _LINEAR,
        "P.global_unstructured([(m, 'weight'), (m, 'bias')], P.L1Unstructured, amount=3)",
        "m.weight, m.bias",
    ),
    "remove": (_SEED, _LINEAR, "m = P.remove(P.l1_unstructured(m, 'weight', 2), 'weight')", "list(m.state_dict())"),
    "is_pruned": (_LINEAR, "P.is_pruned(m), P.is_pruned(P.identity(m, 'bias'))"),
}

_UTILS = {
    **{f"nn.utils.prune.{name}": tuple(line.replace("P.", "nn.utils.prune.") for line in lines) for name, lines in _PRUNED.items()},
    "nn.utils.clip_grad_norm": (_W, "(w ** 2).sum().backward()", "n = nn.utils.clip_grad_norm(w, 1.)", "w.grad"),
    "nn.utils.clip_grads_with_norm_": (_W, "(w ** 2).sum().backward()", "nn.utils.clip_grads_with_norm_(w, 1., tensor(10.))", "w.grad"),
    "nn.utils.weight_norm": (_SEED, f"m = nn.utils.weight_norm({_LINEAR[4:]})", "m.weight_g"),
    "nn.utils.remove_weight_norm": (_SEED, f"m = nn.utils.weight_norm({_LINEAR[4:]})", "nn.utils.remove_weight_norm(m)"),
    "nn.utils.spectral_norm": (_SEED, f"m = nn.utils.spectral_norm({_LINEAR[4:]})", "m.weight_u.shape"),
    "nn.utils.remove_spectral_norm": (_SEED, f"m = nn.utils.spectral_norm({_LINEAR[4:]})", "nn.utils.remove_spectral_norm(m)"),
    **{
        f"nn.utils.fuse_{name}_bn_eval": (f"m, n = nn.{made}.eval(), nn.{norm}(2).eval()", f"nn.utils.fuse_{name}_bn_eval(m, n)")
        for name, made, norm in (("conv", "Conv2d(1, 2, 1)", "BatchNorm2d"), ("linear", "Linear(1, 2)", "BatchNorm1d"))
    },
    **{
        f"nn.utils.fuse_{name}_bn_weights": (
            f"w, z, o = ones({shape}), zeros(2), ones(2)",
            f"nn.utils.fuse_{name}_bn_weights(w, z, z, o, 0.0, o, z)",
        )
        for name, shape in (("conv", "2, 1, 1, 1"), ("linear", "2, 1"))
    },
    **{
        f"nn.modules.module.register_module_{name}_hook": (
            "seen = []",
            f"h = nn.modules.module.register_module_{name}_hook(lambda m, *rest: seen.append(type(m).__name__))",
            "nn.ReLU()(ones(1, requires_grad=True)).backward()",
            "h.remove()",
            "seen",
        )
        for name in ("forward_pre", "forward", "full_backward_pre", "full_backward", "backward")
    },
    "nn.utils.stateless.functional_call": ("nn.utils.stateless.functional_call(nn.ReLU(), {}, ones(1))",),
    "nn.utils.parametrize.type_before_parametrizations": ("nn.utils.parametrize.type_before_parametrizations(nn.ReLU())",),
    "nn.utils.skip_init": ("nn.utils.skip_init(nn.Linear, 2, 3)",),
    **{
        f"nn.utils.parametrizations.{name}": (_SEED, f"nn.utils.parametrizations.{name}({_LINEAR[4:]})")
        for name in ("orthogonal", "spectral_norm", "weight_norm")
    },
    f"{_P[6:]}.register_parametrization": (_DOUBLED, _LINEAR, f"{_P}.register_parametrization(m, 'weight', Doubled())"),
    f"{_P[6:]}.remove_parametrizations": (
        _DOUBLED,
        _LINEAR,
        f"m = {_P}.register_parametrization(m, 'weight', Doubled())",
        f"{_P}.remove_parametrizations(m, 'weight')",
    ),
    f"{_P[6:]}.is_parametrized": (_LINEAR, f"{_P}.is_parametrized(m)"),
    f"{_P[6:]}.cached": (
        _SEED,
        f"m = nn.utils.parametrizations.orthogonal({_LINEAR[4:]})",
        f"with {_P}.cached():\n    y = m(m(ones(2)))",
        "y.shape",
    ),
    f"{_P[6:]}.ParametrizationList": (
        _DOUBLED,
        _LINEAR,
        f"m = {_P}.register_parametrization(m, 'weight', Doubled())",
        f"isinstance(m.parametrizations.weight, {_P}.ParametrizationList)",
    ),
}

_AVERAGES = {
    "optim.swa_utils.AveragedModel": (_LINEAR, "a = optim.swa_utils.AveragedModel(m)", "a.update_parameters(m)", "a.n_averaged"),
    "optim.swa_utils.SWALR": (
        "o = optim.SGD([ones(1, requires_grad=True)], lr=0.1)",
        "s = optim.swa_utils.SWALR(o, swa_lr=0.05, anneal_epochs=2)",
        "o.step()",
        "s.step()",
        "s.get_last_lr()",
    ),
    "optim.swa_utils.get_ema_avg_fn": ("optim.swa_utils.get_ema_avg_fn(0.9)(tensor(1.), tensor(2.), 1)",),
    "optim.swa_utils.get_swa_avg_fn": ("optim.swa_utils.get_swa_avg_fn()(tensor(1.), tensor(2.), tensor(1))",),
    "optim.swa_utils.get_ema_multi_avg_fn": ("a = [tensor([1.])]", "optim.swa_utils.get_ema_multi_avg_fn(0.9)(a, [tensor([2.])], 1)", "a"),
    "optim.swa_utils.get_swa_multi_avg_fn": ("a = [tensor([1.])]", "optim.swa_utils.get_swa_multi_avg_fn()(a, [tensor([2.])], 1)", "a"),
    "optim.swa_utils.update_bn": ("m = nn.BatchNorm1d(1)", "optim.swa_utils.update_bn([tensor([[1.], [3.]])], m)", "m.running_mean"),
}

_SETTINGS = {
    "thread_safe_generator": ("torch.thread_safe_generator() is None",),
    "autograd.is_tensor_like": ("torch.autograd.is_tensor_like(ones(1))",),
    "overrides.is_tensor_like": ("torch.overrides.is_tensor_like(ones(1))",),
    "autograd.has_torch_function": ("torch.autograd.has_torch_function((ones(1),))",),
    "autograd.handle_torch_function": ("torch.overrides.handle_torch_function(abs, (ones(1),), tensor([-1.]))",),
    "func.rearrange": ("torch.func.rearrange(arange(4), '(a b) -> a b', a=2)",),
    "is_storage": ("torch.is_storage(ones(2).untyped_storage())",),
    "get_default_device": ("torch.get_default_device()",),
    "set_default_device": ("torch.set_default_device('cpu')", "torch.get_default_device()"),
    "set_float32_matmul_precision": ("torch.set_float32_matmul_precision('highest')", "x = arange(2.)", "x @ x"),
    "are_deterministic_algorithms_enabled": ("torch.are_deterministic_algorithms_enabled()",),
    "is_deterministic_algorithms_warn_only_enabled": ("torch.is_deterministic_algorithms_warn_only_enabled()",),
    "set_deterministic_debug_mode": ("torch.set_deterministic_debug_mode('warn')", "torch.get_deterministic_debug_mode()"),
    "get_deterministic_debug_mode": ("torch.get_deterministic_debug_mode()",),
    "get_float32_matmul_precision": ("torch.get_float32_matmul_precision()",),
    "is_autocast_enabled": ("torch.is_autocast_enabled('cpu')",),
    "get_autocast_dtype": ("torch.get_autocast_dtype('cpu')",),
    "is_autocast_cpu_enabled": ("torch.is_autocast_cpu_enabled()",),
    "is_autocast_cache_enabled": ("torch.is_autocast_cache_enabled()",),
    "get_autocast_gpu_dtype": ("torch.get_autocast_gpu_dtype()",),
    "get_autocast_cpu_dtype": ("torch.get_autocast_cpu_dtype()",),
    "compiled_with_cxx11_abi": ("torch.compiled_with_cxx11_abi()",),
    "is_vulkan_available": ("torch.is_vulkan_available()",),
    "sym_max": ("torch.sym_max(1, 2.)",),
    "sym_min": ("torch.sym_min(1, 2.)",),
    "sym_not": ("torch.sym_not(0)",),
    "sym_int": ("torch.sym_int(2.5)",),
    "sym_float": ("torch.sym_float(2)",),
    "sym_sqrt": ("torch.sym_sqrt(4)",),
    "sym_sum": ("torch.sym_sum(1, 2, 3)",),
    "sym_ite": ("torch.sym_ite(True, 1, 2)",),
    "set_warn_always": ("torch.set_warn_always(True)", "torch.is_warn_always_enabled()"),
    "is_warn_always_enabled": ("torch.is_warn_always_enabled()",),
    "set_num_interop_threads": ("torch.set_num_interop_threads(2)", "torch.get_num_interop_threads()"),
    "get_num_interop_threads": ("torch.get_num_interop_threads()",),
    "layout": ("isinstance(ones(1).layout, torch.layout)",),
    "memory_format": ("isinstance(torch.channels_last, torch.memory_format)",),
    "backends.cudnn.deterministic": ("torch.backends.cudnn.deterministic",),
    "typename": ("torch.typename(ones(2))",),
    "set_default_tensor_type": ("torch.set_default_tensor_type('torch.FloatTensor')", "tensor(1.).dtype"),
}

_TRAINING = {
    "autocast": ("with torch.autocast('cpu', enabled=False): x = ones(2) * 2", "x.dtype"),
    "cuda.amp.autocast": ("with torch.cuda.amp.autocast(enabled=False): x = ones(2) * 2", "x.dtype"),
    "amp.GradScaler": ("s = torch.amp.GradScaler(enabled=False)", "s.scale(ones(1))"),
    "cuda.amp.GradScaler": ("s = torch.cuda.amp.GradScaler(enabled=False)", "s.scale(ones(1))"),
    "utils.checkpoint.checkpoint": (_W, "torch.utils.checkpoint.checkpoint(lambda x: x ** 2, w, use_reentrant=False)"),
    "utils.checkpoint.checkpoint_sequential": (
        "m = nn.Sequential(nn.ReLU(), nn.Tanh())",
        _W,
        "torch.utils.checkpoint.checkpoint_sequential(m, 2, w, use_reentrant=False)",
    ),
}

EXAMPLES: dict[str, tuple[str, ...]] = {**_TRAINING, **_POOLING, **_LAZY, **_LOSSES, **_UTILS, **_AVERAGES, **_SETTINGS}
