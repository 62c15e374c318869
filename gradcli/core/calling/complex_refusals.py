"""What PyTorch 2.13 says where a function does not take complex tensors."""

from __future__ import annotations

from gradcli.core.tensor.dtypes import DType
from gradcli.errors import Code, ProgramError

#: the functions whose kernel has their name, without `special_` and with `_cpu` behind it
_OWN = (
    "adaptive_avg_pool3d adaptive_max_pool3d aminmax atan2 bitwise_and copysign cummax cummin elu fmod frac gcd ge glu gt hardshrink "
    "hardswish hypot igamma igammac kthvalue lcm le leaky_relu logaddexp2 logit lt mish mode nextafter poisson prelu remainder softplus "
    "special_entr special_erfcx special_i0e special_i1 special_i1e special_log_ndtr special_ndtri special_xlog1py special_zeta "
    "threshold xlogy"
)
#: by function, the kernel that is not implemented
KERNELS = {
    **{name: f"{name.removeprefix('special_')}_cpu" for name in _OWN.split()},
    "adaptive_avg_pool1d": "adaptive_avg_pool2d",
    "adaptive_max_pool1d": "adaptive_max_pool2d",
    "adaptive_max_pool2d": "adaptive_max_pool2d",
    "amax": "max_values_cpu",
    "amin": "min_values_cpu",
    "avg_pool1d": "avg_pool2d",
    "avg_pool2d": "avg_pool2d",
    "avg_pool3d": "avg_pool3d_out_frame",
    "batch_norm": "batch_norm",
    "bernoulli": "bernoulli_tensor_cpu_self_",
    "binary_cross_entropy": "binary_cross_entropy",
    "binary_cross_entropy_with_logits": "log_sigmoid_cpu",
    "celu": "elu_cpu",
    "cross_entropy": "log_softmax_lastdim_kernel_impl",
    "digamma": "digamma",
    "erf": "erf_vml_cpu",
    "erfc": "erfc_vml_cpu",
    "erfinv": "erfinv_vml_cpu",
    "floor_divide": "div_floor_cpu",
    "gelu": "GeluKernelImpl",
    "group_norm": "GroupNormKernelImpl",
    "huber_loss": "huber_cpu",
    "i0": "i0_vml_cpu",
    "instance_norm": "batch_norm",
    "interpolate": "compute_indices_weights_nearest",
    "layer_norm": "LayerNormKernelImpl",
    "lgamma": "lgamma_vml_cpu",
    "local_response_norm": "avg_pool2d",
    "logsigmoid": "log_sigmoid_cpu",
    "lp_pool1d": "avg_pool2d",
    "lp_pool2d": "avg_pool2d",
    "max": "max_all",
    "max_pool2d": "max_pool2d",
    "max_pool3d": "max_pool3d",
    "min": "min_all",
    "mse_loss": "mse_cpu",
    "multi_margin_loss": "multi_margin_loss_cpu_kernel",
    "multilabel_soft_margin_loss": "log_sigmoid_cpu",
    "mvlgamma": "arange_cpu",
    "scaled_dot_product_attention": "softmax_lastdim_kernel_impl",
    "searchsorted": "searchsorted_out_cpu",
    "selu": "elu_cpu",
    "random_": "random_kernel_cpu",
    "smooth_l1_loss": "smooth_l1_cpu",
    "softshrink": "softshrink_check",
    "special_ndtr": "erf_vml_cpu",
    "_unique2": "unique",
    "unique": "unique",
    "unique_dim": "unique_dim",
}
#: the functions that clamp
_CLAMPING = (
    "clamp clamp_max clamp_min clip cosine_embedding_loss hardtanh hinge_embedding_loss margin_ranking_loss relu relu6 rnn_relu "
    "rnn_relu_cell"
)
#: by function, the error's type and text; {} is the dtype
TEXTS = {
    **dict.fromkeys(_CLAMPING.split(), "NotImplementedError: clamp is not supported for complex types"),
    "randint": "RuntimeError: check_random_bounds handles only integral, floating-point and boolean types",
    "argmax": "RuntimeError: argmax(): does not support complex input",
    "argmin": "RuntimeError: argmin(): does not support complex input",
    "argsort": "RuntimeError:  Sort does not support complex dtypes on CPU",
    "ceil": "NotImplementedError: ceil is not supported for complex inputs",
    "deg2rad": "RuntimeError: deg2rad is not supported for complex tensors.",
    "floor": "NotImplementedError: floor is not supported for complex inputs",
    "fmax": "RuntimeError: fmax not implemented for complex tensors.",
    "fmin": "RuntimeError: fmin not implemented for complex tensors.",
    "frexp": "RuntimeError: torch.frexp() only supports floating-point dtypes",
    "heaviside": "RuntimeError: heaviside is not yet implemented for complex tensors.",
    "isin": "RuntimeError: Unsupported input type encountered for isin(): {}",
    "isneginf": "RuntimeError: isneginf does not support complex inputs.",
    "isposinf": "RuntimeError: isposinf does not support complex inputs.",
    "kl_div": "RuntimeError: kl_div: Complex inputs not supported.",
    "linalg_vector_norm": "RuntimeError: linalg.vector_norm: Expected a non-complex scalar as the order of norm.",
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
