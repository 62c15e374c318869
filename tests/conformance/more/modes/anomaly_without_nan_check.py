import torch
with torch.autograd.detect_anomaly(check_nan=False):
    x = torch.tensor([0.0], requires_grad=True)
    y = (x * float("inf")).sum()
    y.backward()
    print(x.grad)
    z = torch.log(x - 1).sum()
    z.backward()
    print(x.grad)
