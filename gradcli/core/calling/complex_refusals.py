"""What PyTorch 2.13 says where a function does not take complex tensors."""

from __future__ import annotations

from gradcli.core.tensor.dtypes import DType
from gradcli.errors import Code, ProgramError

#: by function, the kernel that is not implemented
KERNELS = {
    "adaptive_avg_pool1d": "adaptive_avg_pool2d",
    "adaptive_avg_pool3d": "adaptive_avg_pool3d_cpu",
    "adaptive_max_pool1d": "adaptive_max_pool2d",
    "adaptive_max_pool2d": "adaptive_max_pool2d",
    "adaptive_max_pool3d": "adaptive_max_pool3d_cpu",
    "amax": "max_values_cpu",
    "amin": "min_values_cpu",
    "aminmax": "aminmax_cpu",
    "atan2": "atan2_cpu",
    "avg_pool1d": "avg_pool2d",
    "avg_pool2d": "avg_pool2d",
    "avg_pool3d": "avg_pool3d_out_frame",
    "batch_norm": "batch_norm",
    "bernoulli": "bernoulli_tensor_cpu_self_",
    "binary_cross_entropy": "binary_cross_entropy",
    "binary_cross_entropy_with_logits": "log_sigmoid_cpu",
    "bitwise_and": "bitwise_and_cpu",
    "celu": "elu_cpu",
    "copysign": "copysign_cpu",
    "cross_entropy": "log_softmax_lastdim_kernel_impl",
    "cummax": "cummax_cpu",
    "cummin": "cummin_cpu",
    "digamma": "digamma",
    "elu": "elu_cpu",
    "erf": "erf_vml_cpu",
    "erfc": "erfc_vml_cpu",
    "erfinv": "erfinv_vml_cpu",
    "floor_divide": "div_floor_cpu",
    "fmod": "fmod_cpu",
    "frac": "frac_cpu",
    "gcd": "gcd_cpu",
    "ge": "ge_cpu",
    "gelu": "GeluKernelImpl",
    "glu": "glu_cpu",
    "group_norm": "GroupNormKernelImpl",
    "gt": "gt_cpu",
    "hardshrink": "hardshrink_cpu",
    "hardswish": "hardswish_cpu",
    "huber_loss": "huber_cpu",
    "hypot": "hypot_cpu",
    "i0": "i0_vml_cpu",
    "igamma": "igamma_cpu",
    "igammac": "igammac_cpu",
    "instance_norm": "batch_norm",
    "interpolate": "compute_indices_weights_nearest",
    "kthvalue": "kthvalue_cpu",
    "layer_norm": "LayerNormKernelImpl",
    "lcm": "lcm_cpu",
    "le": "le_cpu",
    "leaky_relu": "leaky_relu_cpu",
    "lgamma": "lgamma_vml_cpu",
    "local_response_norm": "avg_pool2d",
    "logaddexp2": "logaddexp2_cpu",
    "logit": "logit_cpu",
    "logsigmoid": "log_sigmoid_cpu",
    "lp_pool1d": "avg_pool2d",
    "lp_pool2d": "avg_pool2d",
    "lt": "lt_cpu",
    "max": "max_all",
    "max_pool2d": "max_pool2d",
    "max_pool3d": "max_pool3d",
    "min": "min_all",
    "mish": "mish_cpu",
    "mode": "mode_cpu",
    "mse_loss": "mse_cpu",
    "multi_margin_loss": "multi_margin_loss_cpu_kernel",
    "multilabel_soft_margin_loss": "log_sigmoid_cpu",
    "mvlgamma": "arange_cpu",
    "nextafter": "nextafter_cpu",
    "poisson": "poisson_cpu",
    "prelu": "prelu_cpu",
    "remainder": "remainder_cpu",
    "scaled_dot_product_attention": "softmax_lastdim_kernel_impl",
    "searchsorted": "searchsorted_out_cpu",
    "selu": "elu_cpu",
    "smooth_l1_loss": "smooth_l1_cpu",
    "softplus": "softplus_cpu",
    "softshrink": "softshrink_check",
    "special_entr": "entr_cpu",
    "special_erfcx": "erfcx_cpu",
    "special_i0e": "i0e_cpu",
    "special_i1": "i1_cpu",
    "special_i1e": "i1e_cpu",
    "special_log_ndtr": "log_ndtr_cpu",
    "special_ndtr": "erf_vml_cpu",
    "special_ndtri": "ndtri_cpu",
    "special_xlog1py": "xlog1py_cpu",
    "special_zeta": "zeta_cpu",
    "threshold": "threshold_cpu",
    "_unique2": "unique",
    "unique": "unique",
    "unique_dim": "unique_dim",
    "xlogy": "xlogy_cpu",
}
#: by function, the error's type and text; {} is the dtype
TEXTS = {
    "randint": "RuntimeError: check_random_bounds handles only integral, floating-point and boolean types",
    "argmax": "RuntimeError: argmax(): does not support complex input",
    "argmin": "RuntimeError: argmin(): does not support complex input",
    "argsort": "RuntimeError:  Sort does not support complex dtypes on CPU",
    "ceil": "NotImplementedError: ceil is not supported for complex inputs",
    "clamp": "NotImplementedError: clamp is not supported for complex types",
    "clamp_max": "NotImplementedError: clamp is not supported for complex types",
    "clamp_min": "NotImplementedError: clamp is not supported for complex types",
    "clip": "NotImplementedError: clamp is not supported for complex types",
    "cosine_embedding_loss": "NotImplementedError: clamp is not supported for complex types",
    "deg2rad": "RuntimeError: deg2rad is not supported for complex tensors.",
    "floor": "NotImplementedError: floor is not supported for complex inputs",
    "fmax": "RuntimeError: fmax not implemented for complex tensors.",
    "fmin": "RuntimeError: fmin not implemented for complex tensors.",
    "frexp": "RuntimeError: torch.frexp() only supports floating-point dtypes",
    "hardtanh": "NotImplementedError: clamp is not supported for complex types",
    "heaviside": "RuntimeError: heaviside is not yet implemented for complex tensors.",
    "hinge_embedding_loss": "NotImplementedError: clamp is not supported for complex types",
    "isin": "RuntimeError: Unsupported input type encountered for isin(): {}",
    "isneginf": "RuntimeError: isneginf does not support complex inputs.",
    "isposinf": "RuntimeError: isposinf does not support complex inputs.",
    "kl_div": "RuntimeError: kl_div: Complex inputs not supported.",
    "margin_ranking_loss": "NotImplementedError: clamp is not supported for complex types",
    "maximum": "RuntimeError: maximum not implemented for complex tensors.",
    "minimum": "RuntimeError: minimum not implemented for complex tensors.",
    "mkldnn_rnn_layer": "RuntimeError: get_mkldnn_dtype: unsupported data type",
    "msort": "RuntimeError:  Sort does not support complex dtypes on CPU",
    "multinomial": "RuntimeError: multinomial only supports floating-point dtypes for input, got: {}",
    "nanmean": "RuntimeError: nansum on CPU does not support complex inputs",
    "nanquantile": "RuntimeError: quantile() input tensor must be either float or double dtype",
    "nansum": "RuntimeError: nansum on CPU does not support complex inputs",
    "quantile": "RuntimeError: quantile() input tensor must be either float or double dtype",
    "rad2deg": "RuntimeError: rad2deg is not supported for complex tensors.",
    "relu": "NotImplementedError: clamp is not supported for complex types",
    "relu6": "NotImplementedError: clamp is not supported for complex types",
    "rnn_relu": "NotImplementedError: clamp is not supported for complex types",
    "rnn_relu_cell": "NotImplementedError: clamp is not supported for complex types",
    "sign": "NotImplementedError: Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.",
    "signbit": "NotImplementedError: signbit is not implemented for complex tensors.",
    "sort": "RuntimeError:  Sort does not support complex dtypes on CPU",
    "topk": "RuntimeError:  topk does not support complex dtypes on CPU",
    "trunc": "NotImplementedError: trunc is not supported for complex inputs",
}


def refusal(name: str, dtype: DType) -> ProgramError:
    """The error of the function `name` for a complex tensor of `dtype`: PyTorch's, or that it is not part of gradcli."""
    if name in KERNELS:
        text = f"NotImplementedError: \"{KERNELS[name]}\" not implemented for '{dtype.torch_name}'"
    else:
        text = TEXTS.get(name, f"NotImplementedError: {name}() of complex tensors is not part of gradcli").replace("{}", dtype.torch_name)
    kind, _, message = text.partition(": ")
    return ProgramError(kind, message, code=Code.NO_KERNEL, names=(name, dtype.torch_name))


def knows(name: str) -> bool:
    """Whether PyTorch refuses complex tensors in the function `name`."""
    return name in KERNELS or name in TEXTS


def before_checks(name: str) -> bool:
    """Whether the function `name` refuses complex tensors before it looks at memory and shapes."""
    return name in TEXTS


def by_kernel(name: str) -> bool:
    """Whether it is the kernel of the function `name` that refuses complex tensors, after a look at the shapes."""
    return name in KERNELS
