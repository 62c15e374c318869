import torch
x = torch.tensor([2.0], requires_grad=True)
with torch.autograd.detect_anomaly():
    try:
        y = (x - 2).pow(0.5) * 0
        y.backward()
    except RuntimeError as e:
        print(str(e))
    x.grad = None
    (x * 2).backward()
    print(x.grad)
