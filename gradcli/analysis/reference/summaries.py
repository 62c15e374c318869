"""What the routines, types and constants of torch do, in a line each, by their names under `torch.`.

Functions of tensors have such a line in their declaration.
"""

from __future__ import annotations

from gradcli.core.vocabulary import library

_ROUTINES = {
    "autograd.backward": "Gradients of the leaves behind tensors, added to their .grad; grad_tensors are the v of v^T J.",
    "autograd.grad": "Gradients of outputs by inputs, returned; grad_outputs are the v of v^T J.",
    "autograd.function.FunctionCtx": "What the ctx of a custom function is an instance of.",
    "autograd.function.BackwardCFunction": "What the nodes of custom functions are instances of.",
    "autograd.functional.jacobian": "All first derivatives of a function: output's shape followed by the input's.",
    "autograd.functional.hvp": "A function's value, and its Hessian times v.",
    "autograd.functional.vhp": "A function's value, and v times its Hessian.",
    "autograd.gradgradcheck": "Compare a function's second derivatives with central differences of its gradients.",
    "func.grad": "A function that computes the gradient of another one, which returns one number.",
    "func.grad_and_value": "A function that computes gradient and value of another one.",
    "func.vjp": "A function's value, and a function that computes v^T J.",
    "func.jvp": "A function's value, and J times the tangents.",
    "func.jacrev": "A function that computes the Jacobian of another one, by backward passes.",
    "func.jacfwd": "A function that computes the Jacobian of another one; the same numbers as jacrev.",
    "func.hessian": "A function that computes the Hessian of another one.",
    **dict.fromkeys(("func.vmap", "vmap"), "A function that applies another one to each slice of its arguments."),
    "autograd.set_detect_anomaly": "Switch on or off that backward fails where a derivative gives nan.",
    "autograd.anomaly_mode.set_detect_anomaly": "Switch on or off that backward fails where a derivative gives nan.",
    "autograd.detect_anomaly": "A block in which backward fails where a derivative gives nan.",
    "autograd.anomaly_mode.detect_anomaly": "A block in which backward fails where a derivative gives nan.",
    "is_anomaly_enabled": "Whether anomaly detection is on.",
    "is_anomaly_check_nan_enabled": "Whether anomaly detection looks for nan.",
    "autograd.graph.register_multi_grad_hook": "A function to call when the gradients of several tensors are known.",
    "set_anomaly_enabled": "Switch anomaly detection on or off for good.",
    "autograd.set_multithreading_enabled": "Accepted, without effect on results: one thread walks the graph.",
    "autograd.is_multithreading_enabled": "What set_multithreading_enabled was told.",
    "autograd.is_view_replay_enabled": "False: views of written tensors are made by as_strided.",
    "autograd.graph.saved_tensors_hooks": "A block: what nodes keep goes through one function, and comes back through another.",
    "autograd.graph.save_on_cpu": "A block: what nodes keep rests on the cpu, where it is anyway.",
    "autograd.graph.disable_saved_tensors_hooks": "A block, or with @ a function, in which hooks on saved tensors are an error.",
    "autograd.graph.allow_mutation_on_saved_tensors": "A block in which tensors that nodes keep may be written to.",
    "autograd.graph.Node": "The type of every grad_fn, for isinstance.",
    "autograd.graph.GradientEdge": "A place in the graph: a node and the number of its output.",
    "autograd.graph.get_gradient_edge": "Where the gradient of a tensor is computed; stands for it in autograd.grad.",
    "autograd.forward_ad.dual_level": "A block, or with @ a function, in which dual tensors can be made.",
    "autograd.forward_ad.enter_dual_level": "Open a forward AD level; its number.",
    "autograd.forward_ad.exit_dual_level": "Close the forward AD level; tangents are gone.",
    "autograd.forward_ad.make_dual": "A tensor that carries a tangent: what is computed from it carries J times the tangent.",
    "autograd.forward_ad.unpack_dual": "The value and the tangent of a dual tensor.",
    "autograd.forward_ad.UnpackedDualTensor": "The type of what unpack_dual returns.",
    "func.functionalize": "The function itself: nothing is compiled, so that writes need no replacement.",
    "func.linearize": "A function's value, and a function that computes J times tangents.",
    "func.stack_module_state": "The parameters and buffers of several modules, stacked under their names.",
    "func.replace_all_batch_norm_modules_": "Takes the running figures of batch normalisations away, so that vmap can run them.",
    "pca_lowrank": "Principal components of rows, by products with a few random vectors: U, S and V.",
    "svd_lowrank": "The largest singular values, by products with a few random vectors: U, S and V.",
    **dict.fromkeys(("accelerator.is_available", "cuda.is_available", "cuda.is_initialized"), "False: tensors live on the cpu."),
    **dict.fromkeys(
        ("accelerator.device_count", "cuda.device_count", "cuda.memory_allocated", "cuda.max_memory_allocated", "cuda.memory_reserved"),
        "0: tensors live on the cpu.",
    ),
    "distributions.Distribution": "The base class of distributions.",
    "distributions.ExponentialFamily": "The base class of distributions whose density is the exponential of a product.",
    "distributions.Transform": "The base class of transforms of random variables.",
    "distributions.identity_transform": "The transform that leaves numbers as they are.",
    "nn.utils.rnn.PackedSequence": "Sequences of several lengths in one tensor, longest first, as recurrent layers take them.",
    **dict.fromkeys(
        ("cuda.synchronize", "cuda.current_device", "cuda.get_device_name", "cuda.get_device_properties", "cuda.get_device_capability"),
        "Raises AssertionError: there is no accelerator.",
    ),
    "testing.assert_close": "An AssertionError where two tensors or numbers differ by more than the tolerances of their dtype.",
    "cuda.manual_seed": "Accepted, without effect: there is no other generator.",
    "no_grad": "A block, or with @ a function, in which no graph is recorded.",
    "enable_grad": "A block, or with @ a function, in which the graph is recorded, also inside no_grad.",
    "inference_mode": "As no_grad; what is made inside can never enter a graph.",
    "set_grad_enabled": "Switch recording of the graph, for a block or for good.",
    "autograd.is_tensor_like": "Whether a value is a tensor, or of a class that takes part in torch functions.",
    "overrides.is_tensor_like": "Whether a value is a tensor, or of a class that takes part in torch functions.",
    "func.rearrange": "A tensor with its dimensions moved, split and joined as a pattern such as '(a b) -> b a' says.",
    "nn.utils.parametrize.register_parametrization": "Let a module compute a parameter or buffer of another from now on.",
    "is_storage": "Whether a value is the memory of a tensor.",
    "typename": "The name of a value's type, with its module.",
    "get_default_device": "The cpu: where new tensors live.",
    "are_deterministic_algorithms_enabled": "What use_deterministic_algorithms was told.",
    "is_deterministic_algorithms_warn_only_enabled": "Whether use_deterministic_algorithms was told to warn only.",
    "set_deterministic_debug_mode": "Switch deterministic algorithms: 0, 1 to warn only, or 2.",
    "get_deterministic_debug_mode": "The mode that set_deterministic_debug_mode was told.",
    "get_float32_matmul_precision": "What set_float32_matmul_precision was told.",
    "is_autocast_enabled": "False: autocast is off.",
    "get_autocast_dtype": "What autocast of a device would cast to.",
    "is_autocast_cache_enabled": "True: autocast would keep what it has cast.",
    "compiled_with_cxx11_abi": "True, as of PyTorch.",
    "is_vulkan_available": "False: there is no graphics processor.",
    "sym_max": "The larger of two numbers, a float if one of them is.",
    "sym_min": "The smaller of two numbers, a float if one of them is.",
    "sym_not": "Whether a number is 0.",
    "sym_int": "A number without its fraction.",
    "sym_float": "A number as a float.",
    "sym_sqrt": "The square root of a number.",
    "sym_sum": "The sum of numbers.",
    "sym_ite": "The second value or the third, by the first.",
    "set_warn_always": "Let warnings that are given once be given each time.",
    "is_warn_always_enabled": "What set_warn_always was told.",
    "set_num_interop_threads": "Choose how many threads run operations side by side; without effect.",
    "get_num_interop_threads": "What set_num_interop_threads was told.",
    "layout": "The type of layouts such as torch.strided.",
    "memory_format": "The type of memory formats such as torch.channels_last.",
    "backends.cudnn.deterministic": "What was assigned to it; there is no cuDNN.",
    "set_default_tensor_type": "Choose the dtype of new floating-point tensors by the name of a tensor type.",
    "nn.UninitializedParameter": "A parameter of a lazy module that has no shape yet.",
    **dict.fromkeys(("autocast", "amp.autocast", "cuda.amp.autocast"), "A block or decorator that casts nothing without an accelerator."),
    **dict.fromkeys(("GradScaler", "amp.GradScaler", "cuda.amp.GradScaler"), "A scaler of losses that is off without an accelerator."),
    "nn.UninitializedBuffer": "A buffer of a lazy module that has no shape yet.",
    "is_grad_enabled": "Whether operations are recorded now.",
    "is_inference_mode_enabled": "Whether inference mode is on.",
    "autograd.Variable": "The tensor itself: what Variables have been since PyTorch 0.4.",
    "manual_seed": "Seed the default generator; the generator.",
    "seed": "Seed the default generator with something new; the seed.",
    "initial_seed": "The seed of the default generator.",
    "get_rng_state": "The state of the default generator, as bytes.",
    "set_rng_state": "Put the default generator into a state kept before.",
    "Generator": "A stream of random numbers of its own.",
    "default_generator": "The generator that random functions use when none is given.",
    "get_default_dtype": "The dtype of new floating-point tensors.",
    "set_default_dtype": "Choose the dtype of new floating-point tensors.",
    "set_printoptions": "How tensors are printed: digits, width, summary.",
    "promote_types": "The dtype that both dtypes fit into.",
    "result_type": "The dtype of the result of arithmetic between two operands.",
    "can_cast": "Whether a conversion is allowed in results of arithmetic.",
    "is_tensor": "Whether a value is a tensor.",
    "set_num_threads": "Choose how many threads compute.",
    "get_num_threads": "How many threads compute.",
    "use_deterministic_algorithms": "Whether memory that is not set is filled with nan; everything here is deterministic.",
}

_TYPES = {
    "device": "Where a tensor lives: always the cpu.",
    "finfo": "The limits of a floating-point dtype.",
    "iinfo": "The limits of an integer dtype.",
    "Tensor": "The type of tensors; called, a float32 tensor.",
    "FloatTensor": "A float32 tensor.",
    "DoubleTensor": "A float64 tensor.",
    "LongTensor": "An int64 tensor.",
    "IntTensor": "An int32 tensor.",
    "ShortTensor": "An int16 tensor.",
    "CharTensor": "An int8 tensor.",
    "ByteTensor": "A uint8 tensor.",
    "HalfTensor": "A float16 tensor.",
    "BFloat16Tensor": "A bfloat16 tensor.",
    "BoolTensor": "A bool tensor.",
    "Size": "The type of shapes: a tuple of extents.",
    "dtype": "The type of dtypes.",
    "strided": "The one layout that tensors have.",
    "contiguous_format": "Row-major order in memory.",
    "channels_last": "Images with the channels innermost in memory.",
    "channels_last_3d": "Volumes with the channels innermost in memory.",
    "preserve_format": "The order in memory that the input has.",
    "nn.Buffer": "A tensor that a module registers as a buffer when it is assigned to one of its attributes.",
    "nn.Parameter": "A leaf that requires grad, and that a module finds among its fields.",
    "nn.Module": "What layers and networks derive from: parameters, modes, state_dict, forward.",
    "nn.ModuleList": "Modules in a list; it is not called.",
    "nn.Identity": "Gives its input.",
    "nn.Flatten": "Dimensions from start_dim to end_dim as one.",
    "optim.Optimizer": "What optimisers derive from.",
    "optim.SGD": "Gradient descent, with momentum, Nesterov's too, and weight decay.",
    "optim.Adam": "Steps of about lr, by running means of gradients and of their squares (Kingma and Ba 2015).",
    "optim.AdamW": "Adam with weight decay apart from the gradient (Loshchilov and Hutter 2019).",
    "optim.Adamax": "Adam with the largest decayed gradient in place of the mean square.",
    "optim.NAdam": "Adam with Nesterov's momentum.",
    "optim.RAdam": "Adam that waits until the variance of its step can be told.",
    "optim.Adadelta": "Steps by running means of squared gradients and of squared steps (Zeiler 2012).",
    "optim.Adagrad": "Steps divided by the root of the sum of all squared gradients (Duchi et al. 2011).",
    "optim.RMSprop": "Steps divided by the root of a running mean of squared gradients.",
    "optim.Rprop": "Steps by signs alone; each element's step grows and shrinks by itself.",
    "optim.ASGD": "Gradient descent that keeps the average of the parameters.",
    "optim.LBFGS": "A quasi-Newton method; step calls the closure several times.",
    "optim.lr_scheduler.LRScheduler": "What schedules of the learning rate derive from.",
}

SUMMARIES: dict[str, str] = {**_ROUTINES, **_TYPES}

#: modules that apply a function whose name is spelt otherwise
_ODD = {
    "nn.LogSigmoid": "F.logsigmoid",
    "nn.Sigmoid": "torch.sigmoid",
    "nn.Tanh": "torch.tanh",
    "nn.BCELoss": "F.binary_cross_entropy",
    "nn.BCEWithLogitsLoss": "F.binary_cross_entropy_with_logits",
    "nn.CrossEntropyLoss": "F.cross_entropy",
    "nn.GaussianNLLLoss": "F.gaussian_nll_loss",
    "nn.HingeEmbeddingLoss": "F.hinge_embedding_loss",
    "nn.KLDivLoss": "F.kl_div",
    "nn.PoissonNLLLoss": "F.poisson_nll_loss",
}


def summary(name: str, own: str) -> str:
    """What a name does, in one line; `own` is the first paragraph of the docstring of its class or function."""
    if name in SUMMARIES:
        return SUMMARIES[name]
    if name in _ODD:
        return f"{_ODD[name]} as a module."
    if own.startswith("`F.") and own.endswith("`."):
        return f"{own[1:-2]} as a module."
    place, _, last = name.rpartition(".")
    if place in ("random", "autograd") and last in SUMMARIES:
        return SUMMARIES[last]
    if place == "distributions.constraints":
        return f"The constraint {last.replace('_', ' ')}: check(value) says where it holds."
    if place == "masked":
        return f"{last} of the elements that a mask selects."
    if place == "signal.windows":
        return f"The {last} window, symmetric or periodic."
    if library.PLACES[name][0].endswith("linalg.removed"):
        return "Removed from PyTorch: raises an error that names what took its place."
    if place == "nn.parameter":
        return SUMMARIES[f"nn.{last}"]
    return own.replace("`", "")
