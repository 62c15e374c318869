import torch
x = torch.tensor([0.5, -1.2, 3.3], requires_grad=True)
for name in ["relu", "sigmoid", "tanh", "exp", "sin", "abs", "neg", "square"]:
    fn = getattr(torch, name)
    x.grad = None
    out = fn(x)
    out.sum().backward()
    print(f"{name:>8}: {out.grad_fn.name():<18} {x.grad.tolist()}")
acts = {"relu": torch.relu, "softplus": torch.nn.functional.softplus, "gelu": torch.nn.functional.gelu}
for k, fn in acts.items():
    print(k, [round(v, 4) for v in fn(x).tolist()])
