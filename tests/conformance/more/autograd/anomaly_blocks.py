import torch
x = torch.tensor([0., 4.], requires_grad=True)
with torch.autograd.set_detect_anomaly(True):
    y = x.sqrt()
    z = (y * 0).sum()
    try:
        z.backward()
    except RuntimeError as e:
        print(e)
with torch.autograd.set_detect_anomaly(True, check_nan=False):
    y = x.sqrt()
    z = (y * 0).sum()
    z.backward()
    print(x.grad)
def f(x):
    return (x - x) / (x - x)
with torch.autograd.detect_anomaly(check_nan=True):
    o = f(x).sum()
    print(o)
    try:
        o.backward()
    except RuntimeError as e:
        print(e)
print(torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled())
with torch.autograd.set_detect_anomaly(True):
    w = torch.tensor([2.], requires_grad=True)
    g, = torch.autograd.grad(torch.log(w - 2).sum() * 0, w, create_graph=True, allow_unused=True) if False else (None,)
    y = torch.where(w > 0, w, torch.log(-w)).sum()
    try:
        y.backward()
        print(w.grad)
    except RuntimeError as e:
        print(e)
