"""Examples for torch.autograd and torch.func, in the manner of examples.py."""

from __future__ import annotations

_X = "x = tensor([1., 2., 3.])"
_W = "w = tensor([1., 2.], requires_grad=True)"
_F = "f = lambda x: (x ** 3).sum()"
_FW = "fw = torch.autograd.forward_ad"
_G = "graph = torch.autograd.graph"

_TWICE = (
    "class Twice(torch.autograd.Function):\n"
    "    @staticmethod\n    def forward(ctx, x): return 2 * x\n"
    "    @staticmethod\n    def backward(ctx, grad): return 2 * grad\n"
)
_ONCE = _TWICE.replace(
    "    @staticmethod\n    def backward", "    @staticmethod\n    @torch.autograd.function.once_differentiable\n    def backward"
)
_APPLIED = "Twice.apply(tensor([1., 2.], requires_grad=True))"

EXAMPLES = {
    "autograd.Function": (_TWICE, _APPLIED),
    "autograd.function.Function": (_TWICE, _APPLIED),
    **{
        f"autograd.function.{name}": (_TWICE, f"isinstance({_APPLIED}.grad_fn, torch.autograd.function.{name})")
        for name in ("FunctionCtx", "BackwardCFunction")
    },
    "autograd.function.once_differentiable": (_ONCE, _APPLIED),
    "autograd.backward": (_W, "torch.autograd.backward((w ** 2).sum())", "w.grad"),
    "autograd.grad": (_W, "torch.autograd.grad((w ** 2).sum(), w)"),
    "autograd.functional.jacobian": (_X, "torch.autograd.functional.jacobian(lambda x: x ** 2, x)"),
    "autograd.functional.hessian": (_X, _F, "torch.autograd.functional.hessian(f, x)"),
    "autograd.functional.vjp": (_X, "torch.autograd.functional.vjp(lambda x: x ** 2, x, ones(3))"),
    "autograd.functional.jvp": (_X, "torch.autograd.functional.jvp(lambda x: x ** 2, x, ones(3))"),
    "autograd.functional.hvp": (_X, _F, "torch.autograd.functional.hvp(f, x, ones(3))"),
    "autograd.functional.vhp": (_X, _F, "torch.autograd.functional.vhp(f, x, ones(3))"),
    "autograd.gradcheck": (
        "x = tensor([1., 2.], dtype=torch.float64, requires_grad=True)",
        "torch.autograd.gradcheck(lambda x: x ** 2, (x,))",
    ),
    "autograd.gradgradcheck": (
        "x = tensor([1., 2.], dtype=torch.float64, requires_grad=True)",
        "torch.autograd.gradgradcheck(lambda x: x ** 3, (x,))",
    ),
    "func.grad": (_X, _F, "torch.func.grad(f)(x)"),
    "func.grad_and_value": (_X, _F, "torch.func.grad_and_value(f)(x)"),
    "func.vjp": (_X, "value, pull = torch.func.vjp(lambda x: x ** 2, x)", "pull(ones(3))"),
    "func.jvp": (_X, "torch.func.jvp(lambda x: x ** 2, (x,), (ones(3),))"),
    "func.jacrev": (_X, "torch.func.jacrev(lambda x: x ** 2)(x)"),
    "func.jacfwd": (_X, "torch.func.jacfwd(lambda x: x ** 2)(x)"),
    "func.hessian": (_X, _F, "torch.func.hessian(f)(x)"),
    "func.vmap": ("torch.func.vmap(lambda row: row.sum())(arange(6.).reshape(2, 3))",),
    "vmap": ("torch.vmap(lambda row: row.sum())(arange(6.).reshape(2, 3))",),
    "autograd.set_detect_anomaly": ("torch.autograd.set_detect_anomaly(False)",),
    "autograd.detect_anomaly": (_W, "with torch.autograd.detect_anomaly(): (w ** 2).sum().backward()", "w.grad"),
    "autograd.graph.register_multi_grad_hook": (
        "a, b = tensor(2., requires_grad=True), tensor(3., requires_grad=True)",
        "known = []",
        "handle = torch.autograd.graph.register_multi_grad_hook((a, b), lambda grads: known.append(grads))",
        "(a * b).backward()",
        "known",
    ),
    "is_anomaly_enabled": ("is_anomaly_enabled()",),
    "is_anomaly_check_nan_enabled": ("is_anomaly_check_nan_enabled()",),
    "cuda.is_available": ("torch.cuda.is_available()",),
    "cuda.device_count": ("torch.cuda.device_count()",),
    "cuda.is_initialized": ("torch.cuda.is_initialized()",),
    "cuda.empty_cache": ("torch.cuda.empty_cache()", "torch.cuda.memory_allocated()"),
    "cuda.memory_allocated": ("torch.cuda.memory_allocated()",),
    "cuda.max_memory_allocated": ("torch.cuda.max_memory_allocated()",),
    "cuda.memory_reserved": ("torch.cuda.memory_reserved()",),
    "cuda.synchronize": ("torch.cuda.synchronize() if torch.cuda.is_available() else 'cpu'",),
    "cuda.current_device": ("torch.cuda.current_device() if torch.cuda.is_available() else 'cpu'",),
    "cuda.get_device_name": ("torch.cuda.get_device_name() if torch.cuda.is_available() else 'cpu'",),
    "cuda.get_device_properties": ("torch.cuda.get_device_properties(0) if torch.cuda.is_available() else 'cpu'",),
    "cuda.get_device_capability": ("torch.cuda.get_device_capability() if torch.cuda.is_available() else 'cpu'",),
    "testing.assert_close": ("torch.testing.assert_close(tensor([0.1]) + 0.2, tensor([0.3]))", "'close'"),
    "cuda.manual_seed": ("torch.cuda.manual_seed(0)", "torch.initial_seed()"),
    "no_grad": (_W, "with no_grad(): y = w * 2", "y.requires_grad"),
    "enable_grad": (_W, "with enable_grad(): y = w * 2", "y.requires_grad"),
    "inference_mode": (_W, "with inference_mode(): y = w * 2", "y.requires_grad"),
    "set_grad_enabled": (_W, "with set_grad_enabled(False): y = w * 2", "y.requires_grad"),
    "is_grad_enabled": ("is_grad_enabled()",),
    "is_inference_mode_enabled": ("is_inference_mode_enabled()",),
    "autograd.Variable": ("torch.autograd.Variable(tensor([1.]), requires_grad=True)",),
    "autograd.variable.Variable": ("torch.autograd.variable.Variable(tensor([1.]), requires_grad=True)",),
    "autograd.set_multithreading_enabled": (
        "with torch.autograd.set_multithreading_enabled(False): on = torch.autograd.is_multithreading_enabled()",
        "on",
    ),
    "autograd.is_multithreading_enabled": ("torch.autograd.is_multithreading_enabled()",),
    "autograd.is_view_replay_enabled": ("torch.autograd.is_view_replay_enabled()",),
    "set_anomaly_enabled": ("torch.set_anomaly_enabled(False)", "is_anomaly_enabled()"),
    "autograd.graph.saved_tensors_hooks": (
        _W,
        "packed = []",
        "with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t): y = w.exp()",
        "packed",
    ),
    "autograd.graph.save_on_cpu": (_W, "with torch.autograd.graph.save_on_cpu(): y = w.exp()", "y.sum().backward()", "w.grad"),
    "autograd.graph.disable_saved_tensors_hooks": (
        _W,
        "with torch.autograd.graph.disable_saved_tensors_hooks('not here'): y = w.exp()",
        "y",
    ),
    "autograd.graph.allow_mutation_on_saved_tensors": (
        "w = tensor([1., 2.], requires_grad=True)",
        """with torch.autograd.graph.allow_mutation_on_saved_tensors():
    b = w.clone()
    y = (b ** 2).sum()
    b.zero_()
    y.backward()
""",
        "w.grad",
    ),
    "autograd.graph.Node": (_W, "isinstance(w.exp().grad_fn, torch.autograd.graph.Node)"),
    "autograd.graph.GradientEdge": (_G, _W, "y = w * 2", "torch.autograd.grad((y ** 2).sum(), graph.GradientEdge(y.grad_fn, 0))"),
    "autograd.graph.get_gradient_edge": (_G, _W, "y = w * 2", "torch.autograd.grad((y ** 2).sum(), graph.get_gradient_edge(y))"),
    "autograd.enforce_grad_layout_policy": (
        "x = ones(2, 2, requires_grad=True)",
        "with torch.autograd.enforce_grad_layout_policy(False):\n    (x * 2).sum().backward()",
        "x.grad",
    ),
    "autograd.graph.region_activation_memory_budget": (
        "try:\n    torch.autograd.graph.region_activation_memory_budget(0.5)\nexcept RuntimeError as e:\n    text = str(e)",
        "text",
    ),
    "autograd.graph.increment_version": (_W, "torch.autograd.graph.increment_version(w)", "w._version"),
    "autograd.forward_ad.dual_level": (_FW, _X, "with fw.dual_level(): u = fw.unpack_dual(fw.make_dual(x, ones(3)).exp())", "u.tangent"),
    "autograd.forward_ad.enter_dual_level": (_FW, "fw.enter_dual_level()", "fw.exit_dual_level()"),
    "autograd.forward_ad.exit_dual_level": (_FW, "fw.enter_dual_level()", "fw.exit_dual_level()"),
    "autograd.forward_ad.make_dual": (_FW, _X, "with fw.dual_level(): text = str(fw.make_dual(x, ones(3)))", "text"),
    "autograd.forward_ad.unpack_dual": (_FW, _X, "with fw.dual_level(): u = fw.unpack_dual(fw.make_dual(x, ones(3)) ** 2)", "u.tangent"),
    "autograd.forward_ad.UnpackedDualTensor": ("torch.autograd.forward_ad.UnpackedDualTensor(tensor(1.), None)",),
    "func.functionalize": (_X, "torch.func.functionalize(lambda x: (x + 1).mul_(2))(x)"),
    "func.linearize": (_X, "value, push = torch.func.linearize(lambda x: x ** 2, x)", "push(ones(3))"),
    "func.replace_all_batch_norm_modules_": ("torch.func.replace_all_batch_norm_modules_(nn.BatchNorm1d(2))",),
    "func.stack_module_state": (
        "g = manual_seed(0)",
        "nets = [nn.Linear(2, 1), nn.Linear(2, 1)]",
        "parameters, buffers = torch.func.stack_module_state(nets)",
        "parameters['weight'].shape",
    ),
}
