import torch
x = torch.tensor([-1.0, 4.0], requires_grad=True)
with torch.autograd.detect_anomaly():
    y = x.sqrt()
    z = y.sum()
    try:
        z.backward()
    except RuntimeError as e:
        print("caught:", e)
print(x.grad)
