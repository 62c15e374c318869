import torch
x = torch.tensor([-1., 4.], requires_grad=True)
y = x.log().sum()
with torch.autograd.detect_anomaly():
    y.backward()
print(x.grad)
a = torch.tensor([0.], requires_grad=True)
b = (a / a).sum()
with torch.autograd.detect_anomaly():
    b.backward()
