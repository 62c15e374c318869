import torch
x = torch.tensor([2.0], requires_grad=True)
with torch.autograd.detect_anomaly():
    y = (x - 2).pow(0.5)
    g, = torch.autograd.grad(y, x, create_graph=True)
    print(g)
